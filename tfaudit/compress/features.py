"""Features of a classifier: what its last layer with a kernel takes."""

from typing import Any

import keras
import numpy as np

from tfaudit.compress.keras_model import KerasForward, check_model, chosen_output, output_names
from tfaudit.compress.litert.inference import scores_of
from tfaudit.compress.model_files import open_model
from tfaudit.compress.pruning.kernels import find_kernels
from tfaudit.errors import InputError
from tfaudit.runtime.keras_internals import making_call

LARGEST = float(np.finfo(np.float16).max)


def features(
    model: Any, images: Any, *, batch_size: int = 256, output: str | None = None
) -> np.ndarray:
    """Return what the last layer with a kernel takes, for `tfaudit.slices`: means over places or tokens, if any.

    Args:
        model: the dense model, a built functional or sequential one, or the path of its `.keras` file.
        images: as in `predict`.
        batch_size: images per step.
        output: name of the output, if the model has several.

    Returns:
        `(N, D)` float16.

    Raises:
        InputError: a flatbuffer, a subclassed model, one without kernels, or images that do not fit.

    Example:
        >>> import tfaudit
        >>> layers = [keras.layers.Dense(3, activation="relu"), keras.layers.Dense(2)]
        >>> model = keras.Sequential([keras.Input((4,)), *layers])
        >>> tfaudit.features(model, np.ones((5, 4))).shape
        (5, 3)
    """
    opened = open_model(model)
    if isinstance(opened, bytes):
        raise InputError("model", "a flatbuffer", "a Keras model, whose layers can be asked")
    dense = check_model(opened)
    if not output_names(dense):
        raise InputError("model", f"{dense.name!r}, a subclassed model", "a functional one")
    kernels = {id(kernel) for kernel in find_kernels(dense, embeddings=True).values()}
    # The output of a sequential model may be that of a call in another model.
    ends = dense.outputs if output is None else dense.output
    taken = _taken(chosen_output(dense, ends, output), kernels)
    if taken.ndim > 2:
        taken = keras.ops.mean(taken, axis=tuple(range(1, taken.ndim - 1)))
    forward = KerasForward(keras.Model(dense.inputs, taken))
    rows = np.concatenate([*scores_of(forward, images, batch_size)])
    return np.clip(rows, -LARGEST, LARGEST).astype(np.float16)


def _taken(tensor: Any, kernels: set[int]) -> Any:
    """Return the input of the last layer with a kernel before a tensor, also inside nested models."""
    operation, sources, index = making_call(tensor)
    if isinstance(operation, keras.Model):
        inner = _taken(operation.outputs[index], kernels)
        return keras.Model(operation.inputs, inner)(sources)
    if kernels & {id(weight) for weight in getattr(operation, "weights", ())}:
        return sources[0]
    if not sources:
        raise InputError("model", "a model without kernels", "one with a layer such as Dense")
    return _taken(sources[0], kernels)
