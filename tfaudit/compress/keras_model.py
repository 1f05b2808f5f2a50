"""Keras models: what a usable one is, and inference that is traced once."""

import weakref
from collections.abc import Callable
from typing import Any, cast

import keras
import numpy as np
import tensorflow as tf

from tfaudit.compress.input_images import OPEN_SIDE, as_input
from tfaudit.errors import InputError

_TRACED: weakref.WeakKeyDictionary[keras.Model, tuple[list, dict[tuple, Callable]]] = weakref.WeakKeyDictionary()


def require_keras_model(model: object, expected: str = "a Keras 3 model") -> keras.Model:
    """Return the model itself, or raise an `InputError` unless it is a Keras 3 model with variables."""
    if not isinstance(model, keras.Model):
        if any(base.__module__.partition(".")[0] == "tf_keras" for base in type(model).__mro__):
            expected += "; prune others with TF-MOT's own prune_low_magnitude and audit their scores with "
            expected += "tfaudit.Predictions.from_scores(labels, scores)"
            raise InputError("model", "a tf_keras (Keras 2) model", expected)
        raise InputError("model", type(model).__name__, expected)
    if not model.built:
        got = f"{model.name!r}, which has no variables yet"
        raise InputError("model", got, "a built model: call model.build(...), or call it once")
    return model


def check_model(model: Any) -> keras.Model:
    """Return the model itself, or raise an `InputError` unless it is built and has one input and one output."""
    model = require_keras_model(model, "a Keras 3 model, flatbuffer bytes or a path")
    if not all(layer.built for layer in model.layers):
        raise InputError("model", f"{model.name!r} with layers that are not built", "a built model: call it once")
    for name in ("input", "output"):
        tensors = getattr(model, f"{name}s", None)
        if tensors is not None and len(tensors) != 1:
            raise InputError("model", f"{model.name!r} with {len(tensors)} {name}s", "one")
    return model


class KerasForward:
    """Inference of a Keras model: images in, float32 scores `(N, units)` out.

    The model is called with `training=False` inside one traced function with an open batch size, which is cached for
    the life of the model: further calls, new weights and a short last batch are not traced again. A layer that is
    added, removed or given another activation is. The model's own `predict_function` and its compiled state do not
    change.

    Attributes:
        gives_probabilities: whether the model ends in softmax or sigmoid; None if its last operation does not show it.
        batch: the fixed batch size of the model, or None.
        image_shape: shape of one image, None for an open side; in `example_shape` 64 stands for an open side.
        dtype: type of the input.
    """

    def __init__(self, model: object) -> None:
        self.model = check_model(model)
        self.gives_probabilities = ends_in_probabilities(self.model)
        inputs = getattr(self.model, "inputs", None)
        shape = inputs[0].shape if inputs else (None, *_built_shape(self.model)[1:])
        self.batch: int | None = shape[0]
        self.example_shape = tuple(side or OPEN_SIDE for side in shape[1:])
        # A subclassed model was built for images of some size; only their channels are binding.
        binding = shape[1:] if inputs else (*(None,) * (len(shape) - 2), shape[-1])
        self.image_shape: tuple[int | None, ...] = tuple(binding)
        self.dtype = np.dtype(tf.as_dtype(inputs[0].dtype).as_numpy_dtype) if inputs else np.dtype(np.float32)

    def __call__(self, images: np.ndarray) -> np.ndarray:
        """Return the scores of images `(N, H, W, C)`."""
        images = as_input(images, self.image_shape, self.dtype)
        return _traced(self.model, self.batch, images)(tf.convert_to_tensor(images)).numpy()


def _traced(model: keras.Model, batch: int | None, images: np.ndarray) -> Callable:
    inner = model._flatten_layers(include_self=False)
    parts = [part for layer in inner for part in (layer, getattr(layer, "activation", None), layer.dtype_policy)]
    traced, functions = _TRACED.get(model, ([], {}))
    if len(traced) != len(parts) or any(a is not b for a, b in zip(traced, parts, strict=True)):
        functions = {}
        _TRACED[model] = (parts, functions)
    key = (images.shape[1:], images.dtype)
    if key not in functions:
        # A weak reference: the function, a value of the dictionary, must not keep its key, the model, alive.
        alive = weakref.ref(model)
        # A concrete function: TensorFlow warns of retracing where many models share this lambda.
        function = tf.function(lambda batch: tf.cast(cast(keras.Model, alive())(batch, training=False), tf.float32))
        functions[key] = function.get_concrete_function(tf.TensorSpec((batch, *images.shape[1:]), images.dtype))
    return functions[key]


def _built_shape(model: keras.Model) -> tuple[int | None, ...]:
    shape = (model.get_build_config() or {}).get("input_shape")
    if not isinstance(shape, tuple | list) or not all(side is None or isinstance(side, int) for side in shape):
        raise InputError("model", f"{model.name!r} without a single input shape", "one input (N, H, W, C)")
    return tuple(shape)


def ends_in_probabilities(model: keras.Model) -> bool | None:
    """Return whether the model ends in softmax or sigmoid; None if its last operation does not show it."""
    # `operations`, not `layers`: a functional model may end in `keras.ops.softmax`, which is no layer.
    last = (model.layers if isinstance(model, keras.Sequential) else getattr(model, "operations", [None]))[-1]
    if isinstance(last, keras.Model):
        return ends_in_probabilities(last)
    activation = getattr(last, "activation", None)
    if isinstance(last, keras.layers.Softmax) or activation in (keras.activations.softmax, keras.activations.sigmoid):
        return True
    return False if isinstance(last, keras.layers.Dense) and activation is keras.activations.linear else None
