"""CHIP: pruning by channel independence ([R] H, Sui et al. 2021).

The feature maps of one image are a matrix F with a row per channel. The independence of channel j is the nuclear norm
of F minus that of F with row j set to zero, averaged over images. The channels with the lowest independence are pruned.

As in the authors' code, the output maps of a kernel are taken after BatchNorm, the addition of a residual block and
the activation, if these follow the layer. Its input maps (axis -2) are the inputs of the layer.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from tfaudit.compress.layer_calls import replaced_calls
from tfaudit.compress.layer_kinds import SEPARABLE, WEIGHTED, layer_kinds
from tfaudit.compress.pruning.channels import channel_axes, channel_count
from tfaudit.compress.pruning.kernels import Kernels, owners
from tfaudit.errors import InputError
from tfaudit.runtime.keras_internals import layers_in

_PASSES = layer_kinds("BatchNormalization", "Add", "Dropout", "SpatialDropout2D")
_ACTIVATES = layer_kinds("Activation", "ReLU", "LeakyReLU", "PReLU", "ELU")
_SPACING = 0.3  # between nodes in log s; the rule converges as exp(-pi^2 / spacing), here 5e-15
_NODES = np.exp(np.arange(-25, 25, _SPACING))


def chip(independence: Any) -> Any:
    """Return the independence of each channel's feature map from the others, [R] H."""
    return independence


def independence(maps: tf.Tensor) -> tf.Tensor:
    """Compute the channel independence `|F|_* - |F without channel j|_*`, averaged over images, float32 `(channels,)`.

    One decomposition of F serves all channels. With F = U diag(sigma) V', the matrix F'F - f_j f_j' of the other rows
    differs from F'F by rank one, so by the matrix determinant lemma their characteristic polynomials at -s^2 have the
    ratio 1 - h_j(s), where h_j(s) = sum_i U_ji^2 sigma_i^2 / (sigma_i^2 + s^2) is the ridge leverage of row j. From
    sqrt(x) = 2/pi int_0^oo x / (x + s^2) ds, summed over the eigenvalues and integrated by parts:

        |F|_* - |F without j|_* = -1/pi int_0^oo log(1 - h_j(s)) ds

    The integrand is analytic in log s, where the trapezoidal rule converges exponentially: the result is that of a
    singular value decomposition for each channel to about 1e-9 of the largest singular value.

    `maps` are floats of shape `(images, channels, pixels)`.

    >>> independence(tf.constant([[[3.0, 4.0], [0.0, 0.0]]])).numpy().round(4).tolist()
    [5.0, 0.0]
    """
    maps = tf.cast(maps, tf.float64)
    sigma, left, _ = tf.linalg.svd(maps, full_matrices=False)
    largest = tf.reduce_max(sigma, axis=-1)[:, None]
    scale = tf.where(largest > 0, largest, 1.0)
    squared = left * left
    # With more channels than pixels, rows have a part outside the row space of F; otherwise the rest is rounding.
    outside = tf.maximum(1 - tf.reduce_sum(squared, axis=-1, keepdims=True), 0.0)
    outside = outside if maps.shape[1] > maps.shape[2] else tf.zeros_like(outside)
    ridge = _NODES**2
    power = (sigma / scale)[..., None] ** 2
    leverage = squared @ (power / (power + ridge))
    complement = outside + squared @ (
        ridge / (power + ridge)
    )  # 1 - leverage, accurate where it is small
    small = tf.math.log1p(-tf.minimum(leverage, 0.5))
    large = tf.math.log(tf.minimum(complement, 1.0))
    height = -tf.where(leverage < 0.5, small, large)
    integral = tf.linalg.matvec(height, tf.constant(_NODES * _SPACING)) + 0.0
    return tf.cast(tf.reduce_mean(scale * integral / np.pi, axis=0), tf.float32)


def batch_independence(
    model: keras.Model, kernels: Kernels, values: Sequence[tf.Tensor], inputs: Any, *, axis: int
) -> list[tf.Tensor]:
    """Compute the independence of each kernel's channels, float32 `(channels,)`, over one batch of inputs.

    `values` replace the kernels' own values, in their dtypes. Axis -2 means input channels, -1 output channels. Raise
    an `InputError` if a kernel has no observable maps, or if the numbers of its channels and maps differ.
    """
    with keras.StatelessScope(
        list(zip(kernels.values(), values, strict=True)), collect_losses=True
    ):
        maps = feature_maps(model, kernels, inputs, axis=axis)
    for name, axes in channel_axes(model, kernels, axis).items():
        count = channel_count(kernels[name].shape, axes)
        number = maps[name].shape[1]
        if count != number:
            got = f"'chip' for {name!r}, {count} channels with {number} maps"
            raise InputError("method", got, "one map per channel")
    return [independence(maps[name]) for name in kernels]


def feature_maps(
    model: keras.Model, kernels: Kernels, images: Any, *, axis: int
) -> dict[str, tf.Tensor]:
    """Compute the input maps (axis -2) or output maps (-1) of each kernel's layer on a batch, in inference mode.

    The model may be of any kind: its layers are observed while they are called.

    Maps have the shape `(images, channels, pixels)`; maps of repeated calls of a layer are joined. Raise an
    `InputError` if a kernel has no observable maps.
    """
    owner = owners(model, kernels)
    _require_observable(kernels, owner, axis)
    observer = _Observer(owner, axis)
    with replaced_calls(layers_in(model, itself=False), observer.watched):
        model(images, training=False)
    maps = observer.maps
    if uncalled := [name for name, parts in maps.items() if not parts]:
        expected = "a kernel whose layer the model calls"
        raise InputError("method", f"'chip' for {uncalled[0]!r}", expected)
    return {name: tf.concat(parts, axis=-1) for name, parts in maps.items()}


class _Observer:
    """Collects the maps of kernels while the layers of a model are called.

    Attributes:
        maps: the maps of each call of each kernel's layer, `(images, channels, pixels)`.
    """

    def __init__(self, owner: Mapping[str, keras.Layer], axis: int) -> None:
        self._owner = owner
        self._axis = axis
        self.maps: dict[str, list[tf.Tensor]] = {name: [] for name in owner}
        # By id of a tensor: the tensor, to keep it alive, and the maps (kernel, number) that it currently stands for.
        self._open_ends: dict[int, tuple[tf.Tensor, list[tuple[str, int]]]] = {}

    def watched(self, layer: keras.Layer, call: Callable[..., Any]) -> Callable[..., Any]:
        """Return the call of a layer, whose maps are then collected."""

        def watched_call(inputs: Any, *rest: Any, **named: Any) -> Any:
            outputs = call(inputs, *rest, **named)
            names = [name for name, maker in self._owner.items() if maker is layer]
            if names:
                self._begin(names, layer, inputs, outputs)
            elif isinstance(layer, _PASSES + _ACTIVATES):
                self._replace(layer, inputs, outputs)
            return outputs

        return watched_call

    def _begin(self, names: list[str], layer: keras.Layer, inputs: Any, outputs: Any) -> None:
        """Add the maps of a layer with kernels."""
        ends = [(name, len(self.maps[name])) for name in names]
        for name in names:
            maps = _channels_first(layer, inputs if self._axis == -2 else outputs)
            self.maps[name].append(maps)
        linear = getattr(layer, "activation", None) in (None, keras.activations.linear)
        if self._axis == -1 and linear:
            self._open_ends[id(outputs)] = (outputs, ends)

    def _replace(self, layer: keras.Layer, inputs: Any, outputs: Any) -> None:
        """Put the outputs of a layer that follows in place of the maps that are its inputs."""
        ends = []
        for tensor in tf.nest.flatten(inputs):
            if tensor.shape == outputs.shape:
                ends += self._open_ends.pop(id(tensor), (tensor, []))[1]
        for name, number in ends:
            self.maps[name][number] = _channels_first(self._owner[name], outputs)
        if ends and isinstance(layer, _PASSES):
            self._open_ends[id(outputs)] = (outputs, ends)


def _require_observable(kernels: Kernels, owner: Mapping[str, keras.Layer], axis: int) -> None:
    """Raise an `InputError` for a kernel whose maps are hidden inside its layer, or whose layer has no maps."""
    for name, layer in owner.items():
        depthwise = kernels[name].name == "depthwise_kernel"
        inside = isinstance(layer, SEPARABLE) and depthwise == (axis == -1)
        if inside or not isinstance(layer, WEIGHTED):
            got = f"'chip' for {name!r} of a {type(layer).__name__} layer"
            side = "inputs" if axis == -2 else "outputs"
            raise InputError("method", got, f"a layer with observable {side}")


def _channels_first(layer: keras.Layer, values: tf.Tensor) -> tf.Tensor:
    if getattr(layer, "data_format", "channels_last") == "channels_last":
        values = keras.ops.moveaxis(values, -1, 1)
    return tf.reshape(values, (-1, values.shape[1], int(np.prod(values.shape[2:]))))
