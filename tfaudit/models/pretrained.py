"""Model files as architectures: a saved model with its weights, and its preprocessing as first layers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tfaudit.compress.model_files import load_keras
from tfaudit.errors import InputError, require

if TYPE_CHECKING:
    import keras

MEANS, DEVIATIONS = (123.675, 116.28, 103.53), (58.395, 57.12, 57.375)
"""Of ImageNet's red, green and blue in 0..255, as in torchvision."""

CAFFE_MEANS = (103.939, 116.779, 123.68)
"""Of blue, green and red, as in the Caffe networks."""

PREPROCESSING: dict[str, tuple[Any, Any] | None] = {
    "none": None,
    "unit": (1 / 255, 0.0),
    "tf": (1 / 127.5, -1.0),
    "caffe": (1.0, [-mean for mean in CAFFE_MEANS]),
    "torch": ([1 / std for std in DEVIATIONS], [-mean / std for mean, std in zip(MEANS, DEVIATIONS, strict=True)]),
}
"""Scale and offset of pixels by name; all but "none" and "unit" as `keras.applications.imagenet_utils`. "caffe" also
reverses the channels."""


def load_pretrained(path: str | Path, input_shape: Sequence[int | None], preprocess: str = "none") -> keras.Model:
    """Load a `.keras` file as a functional model with its preprocessing: pixels 0..255 in, the file's outputs out.

    `input_shape` is `(H, W, C)`. `preprocess` is that of the model's training: "none" (it rescales its inputs), "unit"
    (to [0, 1]), or "tf" (to [-1, 1]), "caffe" (BGR, means subtracted) and "torch" as in `keras.applications`.

    Raises:
        InputError: no such file, one that cannot be loaded or takes other images, or an unknown preprocessing.
    """
    import keras

    require(preprocess in PREPROCESSING, "preprocess", preprocess, ", ".join(PREPROCESSING))
    inner = load_keras(place := Path(path).expanduser())
    shape = inner.input_shape[1:]
    if len(shape) != 3 or any(side not in (None, size) for side, size in zip(shape, input_shape, strict=True)):
        expected = f"{tuple(input_shape)}, those of the data set"
        raise InputError("model", f"{place}, which takes images {shape}", expected)
    images = scaled = keras.Input(tuple(input_shape), name="images")
    if preprocess == "caffe":  # Slices and a concatenation can be quantized; TensorFlow Lite has no integer reversal.
        scaled = keras.layers.Concatenate(name="bgr")([images[..., 2:3], images[..., 1:2], images[..., 0:1]])
    if rescaling := PREPROCESSING[preprocess]:
        scaled = keras.layers.Rescaling(*rescaling, name=preprocess)(scaled)
    return keras.Model(images, inner(scaled), name=f"{inner.name}_on_pixels")
