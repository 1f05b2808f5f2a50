"""Statistics of BatchNormalization, estimated anew from training inputs after a model was changed."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator, Mapping
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from tfaudit.compress.keras_model import check_model
from tfaudit.compress.model_inputs import input_batches, length_of
from tfaudit.datasets.dataset import Dataset
from tfaudit.datasets.pipeline import full_batches
from tfaudit.datasets.structure import mapped
from tfaudit.errors import InputError, require

BATCHES = 20
"""Batches over which statistics are averaged."""


def recalibrate_batch_norm(
    model: keras.Model, data: Any, *, batches: int = BATCHES, batch_size: int = 128, seed: int = 0
) -> tuple[str, ...]:
    """Estimate the moving statistics of BatchNormalization anew, in place, from training inputs.

    Pruning changes what a layer receives, and few steps of fine-tuning leave the moving statistics close to those of
    the model as it was: with a momentum of .99, 24 % of them after 141 steps. Here the model is called in training
    mode, without an update of its weights, and each moving mean and variance becomes the plain average of those of the
    batches. The momentum has no part in it.

    Nothing else changes: kernels, `gamma` and `beta`, the random states of Dropout and of layers that augment, and the
    states of other layers are afterwards what they were. So the same call gives the same statistics again. Frozen
    layers (`trainable=False`) and those that a model calls in inference mode while it is trained keep their statistics.

    Args:
        model: a built Keras 3 model, compiled or not.
        data: training inputs, as `fit` takes them, augmented as in training: an array `(N, ...)` or a dictionary of
            arrays, also as a pair `(inputs, targets)`; a `tfaudit` data set; or shuffled batches of inputs or of such
            pairs, as in a `tf.data.Dataset`. Several inputs without names are `((a, b), targets)`. Targets are not
            used.
        batches: number of batches, 20 by default. All count alike.
        batch_size: examples of a batch, drawn at random without a short last batch; iterables keep their own batches.
        seed: of the draws.

    Returns:
        The paths of the layers whose statistics were estimated; empty if there are none.

    Raises:
        InputError: a model or data that cannot be used, or fewer batches than `batches`.

    >>> model = keras.Sequential([keras.Input((1,)), keras.layers.BatchNormalization(name="norm")], name="net")
    >>> recalibrate_batch_norm(model, np.array([[1.0], [3.0]]))
    ('net/norm',)
    >>> [float(values[0]) for values in model.get_weights()]  # gamma, beta, moving mean, moving variance
    [1.0, 0.0, 2.0, 1.0]
    """
    check_model(model)
    require(batches >= 1, "batches", batches, "1 or more")
    require(batch_size >= 1, "batch_size", batch_size, "1 or more")
    flat = model._flatten_layers()
    layers = [
        layer
        for layer in flat
        if isinstance(layer, keras.layers.BatchNormalization) and layer.trainable
    ]
    if not layers:
        return ()
    averages = [_Average(layer) for layer in layers]
    with _restored(model), contextlib.ExitStack() as recording:
        for average in averages:
            recording.enter_context(average.recorded())
        seen = 0
        try:
            for inputs in itertools.islice(_batches(model, data, batch_size, seed), batches):
                model(mapped(tf.convert_to_tensor, inputs), training=True)
                seen += 1
        except InputError as problem:
            raise InputError("data", problem.got, problem.expected) from None
    if seen < batches:
        raise InputError(
            "data", f"{seen} batches", f"{batches} or more, or another number of batches"
        )
    return tuple(average.layer.path for average in averages if average.assign())


class _Average:
    """Average of the statistics of a layer over its calls in training mode."""

    def __init__(self, layer: keras.layers.BatchNormalization) -> None:
        self.layer = layer
        self._moving = (layer.moving_mean, layer.moving_variance)
        self._sums, self._calls = [0.0, 0.0], 0

    @contextlib.contextmanager
    def recorded(self) -> Iterator[None]:
        """Record the calls: without a momentum, the moving statistics are those of the last call."""
        layer, own, momentum = self.layer, self.layer.call, self.layer.momentum
        replaced = "call" in vars(layer)

        def call(inputs: Any, training: Any = None, **options: Any) -> Any:
            outputs = own(inputs, training=training, **options)
            if training:
                values = [variable.numpy().astype(np.float64) for variable in self._moving]
                self._sums = [
                    total + value for total, value in zip(self._sums, values, strict=True)
                ]
                self._calls += 1
            return outputs

        layer.call, layer.momentum = call, 0.0
        for variable in self._moving:  # 0 times infinity is no number
            variable.assign(tf.zeros(variable.shape, variable.dtype))
        try:
            yield
        finally:
            layer.momentum = momentum
            if replaced:
                layer.call = own
            else:
                del layer.call

    def assign(self) -> bool:
        """Make the averages the moving statistics; return whether there were calls."""
        if self._calls:
            for variable, total in zip(self._moving, self._sums, strict=True):
                variable.assign(total / self._calls)
        return self._calls > 0


@contextlib.contextmanager
def _restored(model: keras.Model) -> Iterator[None]:
    """Restore every variable afterwards: those of random layers and of other states too."""
    before = [
        (variable, variable.numpy()) for variable in (*model.variables, *model.metrics_variables)
    ]
    try:
        yield
    finally:
        for variable, value in before:
            variable.assign(value)


def _batches(model: keras.Model, data: Any, batch_size: int, seed: int) -> Iterator[Any]:
    """Yield batches of inputs."""
    if isinstance(data, Dataset):
        data = full_batches(data, batch_size, seed)
    inputs = data[0] if isinstance(data, tuple) and _is_pair(model, data) else data
    if not (hasattr(inputs, "__array__") or isinstance(inputs, Mapping | tuple)):
        yield from input_batches(inputs, batch_size)
        return
    draws = np.random.default_rng(seed)
    count = length_of(inputs)
    if not count:
        raise InputError("data", "no examples", "one example or more")
    size = min(batch_size, count)
    order = np.empty(0, int)
    arrays = mapped(np.asarray, inputs)
    while True:
        if len(order) < size:
            order = draws.permutation(count)
        chosen = order[:size]
        order = order[size:]
        yield mapped(lambda array, chosen=chosen: array[chosen], arrays)  # type: ignore[misc]


def _is_pair(model: keras.Model, data: tuple[Any, ...]) -> bool:
    """Return whether a tuple is of inputs and targets, not of a model's inputs."""
    takes_two = len(getattr(model, "inputs", None) or ()) == 2
    return len(data) == 2 and (isinstance(data[0], Mapping | tuple) or not takes_two)
