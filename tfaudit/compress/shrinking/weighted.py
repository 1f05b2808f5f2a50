"""Layers with weights: convolutions, dense layers and batch normalisation."""

from collections.abc import Hashable
from typing import Any

import keras
import numpy as np
from keras import layers

from tfaudit.compress.shrinking.channel_cuts import Channels, Cut
from tfaudit.compress.shrinking.elementwise import applied, is_elementwise
from tfaudit.compress.shrinking.steps import Link, Mix, Step, Wall

__all__ = ["KINDS", "normalisation", "weighted"]

CONVOLUTIONS = {layers.Conv1D, layers.Conv2D, layers.Conv3D}
TRANSPOSED = {layers.Conv1DTranspose, layers.Conv2DTranspose, layers.Conv3DTranspose}
DEPTHWISE = {layers.DepthwiseConv1D, layers.DepthwiseConv2D}
SEPARABLE = {layers.SeparableConv1D, layers.SeparableConv2D}
KINDS = CONVOLUTIONS | TRANSPOSED | DEPTHWISE | SEPARABLE | {layers.Dense}
"""The layers that `weighted` knows, by their exact class: a subclass may do anything."""


def weighted(layer: Any, tensor: Hashable, output: Hashable) -> list[Step]:
    """The steps of a convolution or dense layer: its sum, and its activation."""
    kind, name = type(layer), layer.name
    summed = (output, "before the activation")
    bias = _array(layer.bias) if layer.use_bias else None
    padded = kind is not layers.Dense and layer.padding != "valid" and any(size > 1 for size in layer.kernel_size)
    activation = _activation(layer, summed, output)
    if kind is layers.Dense:
        return [Mix(name, tensor, summed, _array(layer.kernel), bias, padded, count="units"), activation]
    if kind in TRANSPOSED:  # Its outputs near the border have fewer contributions, whatever the padding.
        kernel = np.swapaxes(_array(layer.kernel), -1, -2)
        return [Mix(name, tensor, summed, kernel, bias, True, transposed=True), activation]
    if kind in DEPTHWISE:
        return [_depthwise(layer, layer.kernel, tensor, summed, bias, padded), activation]
    if kind in SEPARABLE:
        between = (output, "between the convolutions")
        pointwise = Mix(name, between, summed, _array(layer.pointwise_kernel), bias, False, variable="pointwise_kernel")
        return [_depthwise(layer, layer.depthwise_kernel, tensor, between, None, padded), pointwise, activation]
    return [Mix(name, tensor, summed, _array(layer.kernel), bias, padded), activation]


def _activation(layer: Any, summed: Hashable, output: Hashable) -> Step:
    if type(layer) in DEPTHWISE:
        count = int(np.prod(layer.kernel.shape[-2:]))
    else:
        count = layer.units if type(layer) is layers.Dense else layer.filters
    if is_elementwise(layer.activation):
        return Link(layer.name, (summed,), output, (np.arange(count),), values=applied(layer.activation))
    return Wall(layer.name, (summed,), {output: count}, "its activation is not known to be elementwise")


def _depthwise(
    layer: Any, variable: Any, tensor: Hashable, output: Hashable, bias: np.ndarray | None, padded: bool
) -> Link:
    kernel = _array(variable)
    source = np.repeat(np.arange(kernel.shape[-2]), kernel.shape[-1])
    places = tuple(range(kernel.ndim - 2))
    silent = ~(kernel != 0).any(axis=places).ravel()
    total = kernel.sum(axis=places, dtype=np.float64).ravel()

    def values(constants: list[np.ndarray]) -> np.ndarray:
        constant = constants[0][source]
        if padded:
            constant = np.where(constant == 0, 0.0, np.nan)
        return np.where(silent, 0.0, constant * total) + (0.0 if bias is None else bias)

    def resize(channels: Channels) -> Cut:
        weights = {variable.name: kernel[..., channels.kept[tensor], :]}
        return Cut(weights=weights if bias is None else weights | {"bias": bias[channels.kept[output]]})

    return Link(layer.name, (tensor,), output, (source,), values=values, resize=resize)


def normalisation(layer: Any, tensor: Hashable, output: Hashable) -> Link:
    """The step of batch normalisation over the last axis, by its moving statistics."""
    mean, variance = _array(layer.moving_mean), _array(layer.moving_variance)
    slope = (_array(layer.gamma) if layer.scale else 1) / np.sqrt(variance.astype(np.float64) + layer.epsilon)
    offset = _array(layer.beta) if layer.center else 0.0

    def values(constants: list[np.ndarray]) -> np.ndarray:
        return np.where(slope == 0, 0.0, (constants[0] - mean) * slope) + offset

    def resize(channels: Channels) -> Cut:
        return Cut(weights={variable.name: _array(variable)[channels.kept[output]] for variable in layer.weights})

    return Link(layer.name, (tensor,), output, (np.arange(mean.size),), values=values, resize=resize)


def _array(variable: Any) -> np.ndarray:
    values = keras.ops.convert_to_numpy(variable)
    return values if values.dtype == np.float32 else values.astype(np.float32)
