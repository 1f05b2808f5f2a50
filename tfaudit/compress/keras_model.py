"""What quantization and inference ask of a Keras model: the checks, and a forward pass that is traced once."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, cast

import keras
import numpy as np
import tensorflow as tf

from tfaudit.compress.input_images import OPEN_SIDE, as_input
from tfaudit.errors import InputError, one_line

if TYPE_CHECKING:
    import keras

__all__ = ["KerasForward", "check_model", "is_tf_keras", "load_model"]

_TRACED: weakref.WeakKeyDictionary[keras.Model, tuple[list, dict[tuple, Callable]]] = weakref.WeakKeyDictionary()


def check_model(model: object) -> keras.Model:
    """The model itself, if it is a built Keras 3 model with one input and one output.

    Raises:
        InputError: It is not.
    """
    if not isinstance(model, keras.Model):
        if is_tf_keras(model):
            raise InputError(
                "model",
                "a tf_keras (Keras 2) model",
                "Keras 3 models; audit its scores with tfaudit.Predictions.from_scores(labels, scores)",
            )
        raise InputError("model", str(type(model).__name__), "a Keras 3 model, flatbuffer bytes or a path")
    if not model.built or not all(layer.built for layer in model.layers):
        raise InputError(f"model: {model.name!r} is not built; build it, call it once or load its weights")
    inputs, outputs = getattr(model, "inputs", None), getattr(model, "outputs", None)
    for name, tensors in (("input", inputs), ("output", outputs)):
        if tensors is not None and len(tensors) != 1:
            raise InputError("model", f"{model.name!r} has {len(tensors)} {name}s", "one")
    return model


def load_model(path: Path) -> keras.Model:
    """The model in a `.keras` file, not compiled.

    Raises:
        InputError: The file cannot be read as a model.
    """
    try:
        return keras.saving.load_model(path, compile=False)
    except Exception as error:  # Keras raises whatever its layers, h5py, zipfile and json raise.
        raise InputError(f"model: {path} cannot be read as a Keras model ({one_line(error)})") from error


def is_tf_keras(model: object) -> bool:
    """Whether it is an object of tf_keras (Keras 2); tells without importing it."""
    return any(base.__module__.partition(".")[0] == "tf_keras" for base in type(model).__mro__)


class KerasForward:
    """Scores of a Keras model in inference mode, float32 `(N, units)`.

    The model is called with `training=False` inside one traced function with an open batch size, kept for as long as
    the model lives: another call, other weights or a short last batch trace nothing. A layer added, removed or given
    another activation traces anew. The model's own `predict_function` and what `compile` set are left alone.

    Attributes:
        gives_probabilities: Whether the model ends in softmax or sigmoid; `None` where its end does not tell.
        batch: The batch size that the model insists on, or `None`.
        image_shape: Shape of one image; `None` leaves a side open.
        example_shape: Shape of an image that the model surely takes.
        dtype: Type of the input.
    """

    def __init__(self, model: object) -> None:
        self.model = check_model(model)
        self.gives_probabilities = _ends_in_probabilities(self.model)
        inputs = getattr(self.model, "inputs", None)
        shape = inputs[0].shape if inputs else (None, *_built_shape(self.model)[1:])
        self.batch: int | None = shape[0]
        self.example_shape = tuple(side or OPEN_SIDE for side in shape[1:])
        # A subclassed model was built with some size of images; that does not bind it, its channels do.
        self.image_shape: tuple[int | None, ...] = (
            tuple(shape[1:]) if inputs else (*(None,) * (len(shape) - 2), shape[-1])
        )
        self.dtype = np.dtype(tf.as_dtype(inputs[0].dtype).as_numpy_dtype) if inputs else np.dtype(np.float32)

    def __call__(self, images: np.ndarray) -> np.ndarray:
        """Scores of images `(N, H, W, C)`."""
        images = as_input(images, self.image_shape, self.dtype)
        return _traced(self.model, self.batch, images)(tf.convert_to_tensor(images)).numpy()


def _traced(model: keras.Model, batch: int | None, images: np.ndarray) -> Callable:
    parts = [
        part
        for layer in model._flatten_layers(include_self=False)
        for part in (layer, getattr(layer, "activation", None), layer.dtype_policy)
    ]
    known, functions = _TRACED.get(model, ([], {}))
    if len(known) != len(parts) or any(a is not b for a, b in zip(known, parts, strict=True)):
        functions = {}
        _TRACED[model] = (parts, functions)
    key = (images.shape[1:], images.dtype)
    if key not in functions:
        # A weak reference: the function is the dictionary's value, and must not keep its key, the model, alive.
        alive = weakref.ref(model)
        # A concrete function: TensorFlow warns of retracing where many models share this lambda.
        function = tf.function(lambda batch: tf.cast(cast(keras.Model, alive())(batch, training=False), tf.float32))
        functions[key] = function.get_concrete_function(tf.TensorSpec((batch, *images.shape[1:]), images.dtype))
    return functions[key]


def _built_shape(model: keras.Model) -> tuple[int | None, ...]:
    shape = (model.get_build_config() or {}).get("input_shape")
    if not isinstance(shape, tuple | list) or not all(side is None or isinstance(side, int) for side in shape):
        raise InputError("model", f"{model.name!r} was not built with one input", "one input (N, H, W, C)")
    return tuple(shape)


def _ends_in_probabilities(model: keras.Model) -> bool | None:
    # `operations` and not `layers`: a functional model may end in `keras.ops.softmax`, which is no layer.
    last = (model.layers if isinstance(model, keras.Sequential) else getattr(model, "operations", [None]))[-1]
    if isinstance(last, keras.Model):
        return _ends_in_probabilities(last)
    activation = getattr(last, "activation", None)
    if isinstance(last, keras.layers.Softmax) or activation in (keras.activations.softmax, keras.activations.sigmoid):
        return True
    return False if isinstance(last, keras.layers.Dense) and activation is keras.activations.linear else None
