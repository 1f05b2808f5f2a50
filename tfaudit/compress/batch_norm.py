"""Statistics of BatchNormalization, estimated again from training inputs after a model was changed."""

import contextlib
import itertools
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from operator import itemgetter
from typing import Any

import keras
import numpy as np

from tfaudit.compress.keras_model import check_model
from tfaudit.compress.layer_calls import replaced_calls
from tfaudit.compress.model_inputs import input_batches, length_of
from tfaudit.datasets.batches import batch_count, is_shuffled
from tfaudit.datasets.dataset import Dataset
from tfaudit.datasets.pipeline import full_batches
from tfaudit.datasets.representative import representative_rows
from tfaudit.datasets.structure import mapped
from tfaudit.errors import InputError, require_least
from tfaudit.runtime.keras_internals import layers_in

BATCHES = 20
"""Number of batches over which statistics are averaged."""


def recalibrate_batch_norm(
    model: keras.Model, data: Any, *, batches: int = BATCHES, batch_size: int = 128, seed: int = 0
) -> tuple[str, ...]:
    """Estimate the moving statistics of BatchNormalization again, in place, from training inputs.

    Pruning changes the inputs of layers, but after few steps of fine-tuning the moving statistics still contain those
    of the unpruned model: with a momentum of 0.99, 24 % of them after 141 steps. This function calls the model in
    training mode without updating its weights; each moving mean and variance becomes the plain average over the
    batches, regardless of the momentum.

    Nothing else changes: kernels, `gamma` and `beta`, the random states of Dropout and of augmenting layers, and the
    states of other layers stay the same, so that a second call gives the same statistics. Frozen layers
    (`trainable=False`) and layers that the model always calls in inference mode keep their statistics.

    Args:
        model: a built Keras 3 model, compiled or not.
        data: training inputs, as `fit` takes them, augmented as in training: an array `(N, ...)`, a dictionary of
            arrays, or a pair `(inputs, targets)` of these; a `tfaudit` data set; or batches of inputs or such pairs, as
            in a `tf.data.Dataset`. Several inputs without names are `((a, b), targets)`. Targets are not used.
            Batches that never end, say that they are shuffled, or are no more than `batches`, are taken as they come.
            Of others, which may be sorted, up to 100,000 examples are read, and batches are drawn from all of them;
            `.take(20)` of shuffled ones saves that.
        batches: number of batches, 20 by default, with equal weight.
        batch_size: examples per batch, drawn at random without a short last batch.
        seed: seed of the random draws.

    Returns:
        The paths of the layers whose statistics were estimated; empty if there are none.

    Raises:
        InputError: the model or the data cannot be used, or there are fewer batches than `batches`.

    >>> model = keras.Sequential([keras.Input((1,)), keras.layers.BatchNormalization(name="norm")], name="net")
    >>> recalibrate_batch_norm(model, np.array([[1.0], [3.0]]))
    ('net/norm',)
    >>> [float(values[0]) for values in model.get_weights()]  # gamma, beta, moving mean, moving variance
    [1.0, 0.0, 2.0, 1.0]
    """
    check_model(model)
    require_least(1, batches=batches, batch_size=batch_size)
    layers = [
        layer
        for layer in layers_in(model)
        if isinstance(layer, keras.layers.BatchNormalization) and layer.trainable
    ]
    if not layers:
        return ()
    inputs = itertools.islice(_batches(model, data, batches, batch_size, seed), batches)
    with _restored(model, layers):
        try:
            found = _statistics(model, layers, inputs)
        except InputError as problem:
            raise InputError("data", problem.got, problem.expected) from None
    if len(found) < batches:
        raise InputError(
            "data",
            f"{len(found)} batches",
            f"{batches} or more, or a smaller number of batches",
        )
    statistics = [[*itertools.chain(*calls)] for calls in zip(*found, strict=True)]
    estimated = {layer: own for layer, own in zip(layers, statistics, strict=True) if own}
    for layer, own in estimated.items():
        for variable, mean in zip(_moving(layer), np.mean(own, axis=0), strict=True):
            variable.assign(mean)
    return tuple(layer.path for layer in estimated)


def _statistics(
    model: keras.Model, layers: Sequence[keras.layers.BatchNormalization], batches: Iterable[Any]
) -> list[list[list[np.ndarray]]]:
    """Return for each batch and layer the mean and variance of each call; changes momenta and variables."""
    for layer in layers:
        layer.momentum = 0.0
        for variable in _moving(layer):  # 0 times infinity is NaN
            variable.assign(keras.ops.zeros(variable.shape, variable.dtype))
    estimate = _estimate(model, layers)
    return [
        keras.tree.map_structure(
            lambda call: keras.ops.convert_to_numpy(call).astype(np.float64),
            estimate(mapped(keras.ops.convert_to_tensor, inputs)),
        )
        for inputs in batches
    ]


def _estimate(
    model: keras.Model, layers: Sequence[keras.layers.BatchNormalization]
) -> Callable[[Any], list[list[Any]]]:
    """Return a function from a batch to each layer's statistics, means and variances of each call in training mode.

    On TensorFlow it is a graph, which frees the activations of a layer after their last use. Called eagerly, a
    ResNet-50 holds 18 GB of them for 128 images.
    """

    def estimate(inputs: Any) -> list[list[Any]]:
        statistics: dict[keras.Layer, list[Any]] = {layer: [] for layer in layers}
        with replaced_calls(layers, partial(_recorded, statistics)):
            model(inputs, training=True)
        return [*statistics.values()]

    if keras.backend.backend() != "tensorflow" or getattr(model, "run_eagerly", False):
        return estimate
    import tensorflow as tf

    return tf.function(estimate, autograph=False)  # type: ignore[no-any-return]


def _recorded(
    statistics: Mapping[Any, list[Any]], layer: Any, call: Callable[..., Any]
) -> Callable[..., Any]:
    """Return a layer's call that also records the statistics of every call in training mode."""

    def recorded(inputs: Any, training: Any = None, **options: Any) -> Any:
        outputs = call(inputs, training=training, **options)
        if training:  # without a momentum, the moving statistics are those of this call
            statistics[layer].append(keras.ops.stack([v.value for v in _moving(layer)]))
        return outputs

    return recorded


def _moving(layer: keras.layers.BatchNormalization) -> tuple[keras.Variable, keras.Variable]:
    return layer.moving_mean, layer.moving_variance


@contextlib.contextmanager
def _restored(model: keras.Model, layers: list[keras.layers.BatchNormalization]) -> Iterator[None]:
    """Restore the momentum of layers, and every variable, including random and other states, on exit."""
    momenta = [layer.momentum for layer in layers]
    before = [(v, v.numpy()) for v in (*model.variables, *model.metrics_variables)]
    try:
        yield
    finally:
        for layer, momentum in zip(layers, momenta, strict=True):
            layer.momentum = momentum
        for variable, value in before:
            variable.assign(value)


def _batches(model: keras.Model, data: Any, most: int, batch_size: int, seed: int) -> Iterator[Any]:
    """Yield batches of inputs, `most` or more if the data suffice."""
    if isinstance(data, Dataset):
        data = full_batches(data, batch_size, seed)
    inputs = data[0] if isinstance(data, tuple) and _is_pair(model, data) else data
    if not (hasattr(inputs, "__array__") or isinstance(inputs, Mapping | tuple)):
        if batch_count(inputs) == math.inf or is_shuffled(inputs):
            yield from input_batches(inputs, batch_size, most=most)
            return
        read = _to_the_end(inputs, batch_size)
        first = list(itertools.islice(read, most + 1))
        if len(first) <= most:
            yield from first
            return
        pairs = ((batch, None) for batch in itertools.chain(first, read))
        inputs = representative_rows(pairs, most * batch_size, "data", seed)
    yield from _drawn(inputs, batch_size, seed)


def _to_the_end(data: Any, batch_size: int) -> Iterator[Any]:
    """Yield batches, of which those of unknown number need not end."""
    most = sys.maxsize if batch_count(data) is None else None
    return input_batches(data, batch_size, most=most)


def _drawn(inputs: Any, batch_size: int, seed: int) -> Iterator[Any]:
    """Yield batches of arrays at random without end, none of them short."""
    count = length_of(inputs)
    if not count:
        raise InputError("data", "no examples", "one example or more")
    draws = np.random.default_rng(seed)
    size = min(batch_size, count)
    arrays = mapped(np.asarray, inputs)
    while True:
        order = draws.permutation(count)
        for start in range(0, count - size + 1, size):
            yield mapped(itemgetter(order[start : start + size]), arrays)


def _is_pair(model: keras.Model, data: tuple[Any, ...]) -> bool:
    """Return whether a tuple holds inputs and targets, rather than the inputs of a model."""
    takes_two = len(getattr(model, "inputs", None) or ()) == 2
    return len(data) == 2 and (isinstance(data[0], Mapping | tuple) or not takes_two)
