"""CHIP: how little of a layer's feature maps the others could stand in for, per channel. [R] H, Sui et al. 2021.

The maps of one image are a matrix F, a row for each channel. The independence of channel j is the nuclear norm of F
less that of F with row j set to zero, averaged over images; the channels with the lowest go.

As in the authors' code, the maps of a kernel's outputs are those after BatchNorm, the addition of a residual block and
the activation, where these follow the layer. The maps of its inputs (axis -2) are what comes into the layer.
"""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from tfaudit.compress.pruning.channels import channel_axes, channel_count
from tfaudit.compress.pruning.kernels import owners
from tfaudit.errors import InputError

__all__ = ["batch_independence", "feature_maps", "independence"]

_layers = keras.layers
_PASSES = (_layers.BatchNormalization, _layers.Add, _layers.Dropout, _layers.SpatialDropout2D)
_ACTIVATES = (_layers.Activation, _layers.ReLU, _layers.LeakyReLU, _layers.PReLU, _layers.ELU)
_MAPPED = (
    *(_layers.Conv1D, _layers.Conv2D, _layers.Conv3D, _layers.Dense, _layers.DepthwiseConv1D, _layers.DepthwiseConv2D),
    *(_layers.Conv1DTranspose, _layers.Conv2DTranspose, _layers.Conv3DTranspose),
    *(_layers.SeparableConv1D, _layers.SeparableConv2D),
)
_SPACING = 0.3  # of the nodes in log s; the rule converges as exp(-pi^2 / spacing), here 5e-15
_NODES = np.exp(np.arange(-25, 25, _SPACING))


def independence(maps: tf.Tensor) -> tf.Tensor:
    """The channel independence `|F|_* - |F without channel j|_*`, its mean over images.

    One decomposition of F serves all channels. With F = U diag(sigma) V', the matrix F'F - f_j f_j' of the other rows
    differs from F'F by rank one, so by the matrix determinant lemma their characteristic polynomials at -s^2 have the
    ratio 1 - h_j(s), where h_j(s) = sum_i U_ji^2 sigma_i^2 / (sigma_i^2 + s^2) is the ridge leverage of row j. From
    sqrt(x) = 2/pi int_0^oo x / (x + s^2) ds, summed over the eigenvalues and integrated by parts:

        |F|_* - |F without j|_* = -1/pi int_0^oo log(1 - h_j(s)) ds

    The integrand is analytic in log s, where the trapezoidal rule converges exponentially: the result is that of a
    singular value decomposition for each channel to about 1e-9 of the largest singular value.

    Args:
        maps: `(images, channels, pixels)`, floats.

    Returns:
        float32 `(channels,)`, >= 0.

    >>> independence(tf.constant([[[3.0, 4.0], [0.0, 0.0]]])).numpy().round(4).tolist()
    [5.0, 0.0]
    """
    maps = tf.cast(maps, tf.float64)
    sigma, left, _ = tf.linalg.svd(maps, full_matrices=False)
    largest = tf.reduce_max(sigma, axis=-1)[:, None]
    scale = tf.where(largest > 0, largest, 1.0)
    squared = left * left
    # Rows of more channels than pixels leave the space of F; otherwise what is left is rounding.
    outside = tf.maximum(1 - tf.reduce_sum(squared, axis=-1, keepdims=True), 0.0)
    outside = outside if maps.shape[1] > maps.shape[2] else tf.zeros_like(outside)
    ridge = _NODES**2
    power = (sigma / scale)[..., None] ** 2
    leverage = squared @ (power / (power + ridge))
    remains = outside + squared @ (ridge / (power + ridge))  # 1 - leverage, without its rounding where it is small
    height = -tf.where(leverage < 0.5, tf.math.log1p(-tf.minimum(leverage, 0.5)), tf.math.log(tf.minimum(remains, 1.0)))
    integral = tf.linalg.matvec(height, tf.constant(_NODES * _SPACING)) + 0.0
    return tf.cast(tf.reduce_mean(scale * integral / np.pi, axis=0), tf.float32)


def batch_independence(
    model: keras.Model, kernels: Mapping[str, keras.Variable], values: Sequence[tf.Tensor], inputs: Any, *, axis: int
) -> list[tf.Tensor]:
    """The channel independence over one batch, where the kernels have these values in place of their own.

    Args:
        model: a built model.
        kernels: by name.
        values: of each kernel, in its dtype.
        inputs: a batch of the model's inputs.
        axis: -2: of the channels that come into a kernel's layer; -1: of those that it puts out.

    Returns:
        Per kernel a float32 tensor `(channels,)`.

    Raises:
        InputError: a kernel whose maps cannot be seen, or that has another number of channels than they.
    """
    with keras.StatelessScope(list(zip(kernels.values(), values, strict=True)), collect_losses=True):
        maps = feature_maps(model, kernels, inputs, axis=axis)
    counts = {
        name: channel_count(kernels[name].shape, axes) for name, axes in channel_axes(model, kernels, axis).items()
    }
    for name, count in counts.items():
        if maps[name].shape[1] != count:
            raise InputError(f"method: 'chip' sees {maps[name].shape[1]} maps where {name!r} has {count} channels")
    return [independence(maps[name]) for name in kernels]


def feature_maps(
    model: keras.Model, kernels: Mapping[str, keras.Variable], images: Any, *, axis: int
) -> dict[str, tf.Tensor]:
    """The feature maps that a model in inference mode computes around its kernels.

    Args:
        model: a built model; any kind, its layers are watched while they are called.
        kernels: by name.
        images: a batch of the model's inputs.
        axis: -2: the maps that come into a kernel's layer; -1: those that it puts out.

    Returns:
        Per kernel `(images, channels, pixels)`; the maps of a layer that is called again and again follow one another.

    Raises:
        InputError: a kernel whose maps cannot be seen.
    """
    names: dict[int, list[str]] = {}
    for name, layer in owners(model, kernels).items():
        hidden = isinstance(layer, _layers.SeparableConv1D | _layers.SeparableConv2D) and (
            (kernels[name].name == "depthwise_kernel") == (axis == -1)
        )
        if hidden or not isinstance(layer, _MAPPED):
            side = "inputs" if axis == -2 else "outputs"
            raise InputError(f"method: 'chip' cannot see the {side} of {name!r}, a {type(layer).__name__} layer")
        names.setdefault(id(layer), []).append(name)
    maps: dict[str, list[tf.Tensor]] = {name: [] for name in kernels}
    # By identity of a tensor: the tensor, so that it lives, and the maps (kernel, number) that it is so far.
    open_ends: dict[int, tuple[tf.Tensor, list[tuple[str, int]]]] = {}

    def see(layer: keras.Layer, inputs: Any, outputs: Any) -> None:
        ends: list[tuple[str, int]] = []
        if id(layer) in names:
            for name in names[id(layer)]:
                ends.append((name, len(maps[name])))
                maps[name].append(_channels_first(layer, inputs if axis == -2 else outputs))
            ends = ends if axis == -1 and _is_linear(layer) else []
        elif isinstance(layer, _PASSES + _ACTIVATES):
            for each in tf.nest.flatten(inputs):
                if each.shape == outputs.shape:
                    ends += open_ends.pop(id(each), (each, []))[1]
            for name, number in ends:
                maps[name][number] = _channels_first(owner[name], outputs)
            ends = ends if isinstance(layer, _PASSES) else []
        if ends:
            open_ends[id(outputs)] = (outputs, ends)

    owner = owners(model, kernels)
    with _watched(model, see):
        model(images, training=False)
    unseen = [name for name, found in maps.items() if not found]
    if unseen:
        raise InputError(f"method: 'chip' cannot see the maps of {unseen[0]!r}: the model does not call its layer")
    return {name: tf.concat(found, axis=-1) if len(found) > 1 else found[0] for name, found in maps.items()}


def _is_linear(layer: keras.Layer) -> bool:
    return getattr(layer, "activation", None) in (None, keras.activations.linear)


def _channels_first(layer: keras.Layer, values: tf.Tensor) -> tf.Tensor:
    if getattr(layer, "data_format", "channels_last") == "channels_last":
        values = keras.ops.moveaxis(values, -1, 1)
    return tf.reshape(values, (-1, values.shape[1], int(np.prod(values.shape[2:]))))


@contextlib.contextmanager
def _watched(model: keras.Model, see: Any) -> Iterator[None]:
    """Let `see(layer, inputs, outputs)` follow every call of a layer of the model."""
    layers = [layer for layer in model._flatten_layers(include_self=False) if "call" not in vars(layer)]

    def spied(layer: keras.Layer, own: Any) -> Any:
        def call(inputs: Any, *rest: Any, **named: Any) -> Any:
            outputs = own(inputs, *rest, **named)
            see(layer, inputs, outputs)
            return outputs

        return call

    for layer in layers:
        vars(layer)["call"] = spied(layer, layer.call)
    try:
        yield
    finally:
        for layer in layers:
            del vars(layer)["call"]
