"""A model file of the user's own as the architecture of a study: complete, with its weights and its preprocessing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tfaudit.errors import InputError, one_line

if TYPE_CHECKING:
    import keras

__all__ = ["PREPROCESSING", "load_pretrained"]

MEANS, DEVIATIONS = (123.675, 116.28, 103.53), (58.395, 57.12, 57.375)
"""Of ImageNet's red, green and blue in 0..255, as torchvision has them."""

CAFFE_MEANS = (103.939, 116.779, 123.68)
"""Of blue, green and red, as the Caffe networks have them."""


def load_pretrained(path: str | Path, input_shape: Sequence[int | None], preprocess: str = "none") -> keras.Model:
    """Loads a `.keras` file and puts its preprocessing before it: pixels 0..255 in, whatever the file gives out.

    Args:
        path: of the file.
        input_shape: `(H, W, C)` of the images.
        preprocess: how the model was trained to see pixels: "none" (it rescales itself), "unit" (in [0, 1]), or "tf"
            (in [-1, 1]), "caffe" (BGR, means subtracted) and "torch" as in `keras.applications`.

    Returns:
        A functional model called as the file's, its layers inside.

    Raises:
        InputError: no such file, one that cannot be loaded or does not take such images, or an unknown preprocessing.
    """
    import keras

    place = Path(path).expanduser()
    if preprocess not in PREPROCESSING:
        raise InputError("preprocess", repr(preprocess), ", ".join(PREPROCESSING))
    if not place.is_file():
        raise InputError(f"model: there is no file {place}")
    try:
        inner = keras.saving.load_model(place, compile=False)
    except Exception as problem:  # Keras raises whatever its layers, h5py, zipfile and json raise
        raise InputError(f"model: {place} cannot be loaded ({one_line(problem)})") from problem
    expected = inner.input_shape[1:]
    if len(expected) != 3 or any(want not in (None, size) for want, size in zip(expected, input_shape, strict=True)):
        raise InputError(f"model: {place} takes images {expected}, and the data set has {tuple(input_shape)}")
    images = keras.Input(tuple(input_shape), name="images")
    return keras.Model(images, inner(PREPROCESSING[preprocess](images)), name=f"{inner.name}_on_pixels")


def _none(images: keras.KerasTensor) -> keras.KerasTensor:
    return images


def _unit(images: keras.KerasTensor) -> keras.KerasTensor:
    from keras import layers

    return layers.Rescaling(1 / 255, name="unit")(images)


def _tf(images: keras.KerasTensor) -> keras.KerasTensor:
    from keras import layers

    return layers.Rescaling(1 / 127.5, -1, name="tf")(images)


def _caffe(images: keras.KerasTensor) -> keras.KerasTensor:
    from keras import layers

    # Slices and a concatenation quantize; TensorFlow Lite has no fixed-point reversal.
    bgr = layers.Concatenate(name="bgr")([images[..., 2:3], images[..., 1:2], images[..., 0:1]])
    return layers.Rescaling(1.0, [-mean for mean in CAFFE_MEANS], name="caffe")(bgr)


def _torch(images: keras.KerasTensor) -> keras.KerasTensor:
    from keras import layers

    scales = [1 / deviation for deviation in DEVIATIONS]
    offsets = [-mean / deviation for mean, deviation in zip(MEANS, DEVIATIONS, strict=True)]
    return layers.Rescaling(scales, offsets, name="torch")(images)


PREPROCESSING: dict[str, Callable[[keras.KerasTensor], keras.KerasTensor]] = {
    "none": _none,
    "unit": _unit,
    "tf": _tf,
    "caffe": _caffe,
    "torch": _torch,
}
"""By name; all but "none" and "unit" as `keras.applications.imagenet_utils.preprocess_input`."""
