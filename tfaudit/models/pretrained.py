"""Model files as architectures: a saved model with its weights, and its preprocessing as the first layers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from tfaudit.compress.model_files import load_keras
from tfaudit.errors import InputError, one_line, require, require_one_of
from tfaudit.runtime.keras_internals import layers_in, maker

if TYPE_CHECKING:
    import keras

MEANS, DEVIATIONS = (123.675, 116.28, 103.53), (58.395, 57.12, 57.375)
"""Means and standard deviations of ImageNet's red, green and blue in 0..255, as in torchvision."""

CAFFE_MEANS = (103.939, 116.779, 123.68)
"""Means of blue, green and red, as in the Caffe networks."""

PREPROCESSING: dict[str, tuple[Any, Any] | None] = {
    "none": None,
    "unit": (1 / 255, 0.0),
    "tf": (1 / 127.5, -1.0),
    "caffe": (1.0, [-mean for mean in CAFFE_MEANS]),
    "torch": (
        [1 / std for std in DEVIATIONS],
        [-mean / std for mean, std in zip(MEANS, DEVIATIONS, strict=True)],
    ),
}
"""Scale and offset of pixels by name; all but "none" and "unit" are as in `keras.applications.imagenet_utils`. "caffe"
also reverses the channels."""


def load_pretrained(
    path: str | Path, input_shape: Any, preprocess: str = "none", *, fresh: bool = False
) -> keras.Model:
    """Load a `.keras` file as a functional model with its preprocessing: pixels 0..255 in, the file's outputs out.

    `input_shape` is `(H, W, C)`; a model that takes no images is returned unchanged. `preprocess` is how its training
    scaled pixels: "none" (it rescales its inputs), "unit" (to [0, 1]), or "tf" (to [-1, 1]), "caffe" (BGR, means
    subtracted) and "torch" as in `keras.applications`. `fresh` draws new initial weights with Keras' global seed,
    except for layers that are frozen or were adapted to data (normalisation, vocabularies). If Keras' global dtype
    policy is mixed, all layers except the output layers use it.

    Raises:
        InputError: the file does not exist, cannot be loaded or takes other images, or the preprocessing is unknown.
    """
    import keras

    require_one_of("preprocess", preprocess, PREPROCESSING)
    inner = load_keras(place := Path(path).expanduser())
    policy = keras.config.dtype_policy().name
    if fresh or policy != "float32":
        inner = copied(inner, fresh=fresh, policy=policy)
    if not isinstance(input_shape, tuple) or len(input_shape) != 3:
        require(
            preprocess == "none",
            "preprocess",
            preprocess,
            "'none' for a model that takes no images",
        )
        return inner
    shape = inner.input_shape[1:] if isinstance(inner.input_shape, tuple) else ()
    if len(shape) != 3 or any(
        side not in (None, size) for side, size in zip(shape, input_shape, strict=True)
    ):
        expected = f"{tuple(input_shape)}, those of the data set"
        raise InputError("model", f"{place}, which takes images {shape}", expected)
    images = scaled = keras.Input(tuple(input_shape), name="images")
    # Slices and a concatenation can be quantized; TensorFlow Lite has no integer reversal.
    if preprocess == "caffe":
        scaled = keras.layers.Concatenate(name="bgr")(
            [images[..., 2:3], images[..., 1:2], images[..., 0:1]]
        )
    if rescaling := PREPROCESSING[preprocess]:
        scaled = keras.layers.Rescaling(*rescaling, name=preprocess)(scaled)
    return keras.Model(images, inner(scaled), name=f"{inner.name}_on_pixels")


def copied(model: keras.Model, *, fresh: bool, policy: str = "float32") -> keras.Model:
    """Return a copy of a model, with new initial weights or its current ones.

    Args:
        model: the model to copy.
        fresh: whether to draw new initial weights; frozen and adapted layers keep their weights.
        policy: dtype policy that replaces float32 in the copy's layers, except output layers; float32 by default.

    Raises:
        InputError: Keras cannot copy the model.
    """
    import keras

    last = [maker(output) for output in getattr(model, "outputs", None) or []]

    def layer_of(layer: keras.Layer) -> keras.Layer:
        config = layer.get_config()
        if (
            "dtype" in config
            and layer.dtype_policy.name == "float32"
            and not any(layer is other for other in last)
        ):
            config["dtype"] = policy
        return type(layer).from_config(config)

    try:
        copy = keras.models.clone_model(model, clone_function=layer_of, recursive=True)
    except Exception as problem:  # a subclassed model without a full get_config
        got = f"{model.name!r}, which Keras cannot build again ({one_line(problem)})"
        if policy != "float32":
            raise InputError(
                "precision", got, "'float32', or a function that builds the model"
            ) from problem
        raise InputError(
            "initialise", got, "'file', or a function that builds the model"
        ) from problem
    pairs = zip(layers_in(model, itself=False), layers_in(copy, itself=False), strict=True)
    for layer, other in pairs:
        if hasattr(layer, "get_vocabulary"):
            other.set_vocabulary(layer.get_vocabulary(include_special_tokens=False))
        elif hasattr(layer, "adapt") or not layer.trainable or not fresh:
            own: dict[str, Any] = {}
            layer.save_own_variables(own)
            other.load_own_variables(own)
    return copy
