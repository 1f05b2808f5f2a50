"""Steps of layers with weights: convolutions, dense layers and batch normalisation."""

from collections.abc import Hashable
from typing import Any

import keras
import numpy as np
from keras import layers

from tfaudit.compress.shrinking.channel_states import ChannelStates, LayerChange
from tfaudit.compress.shrinking.elementwise import function_of_constants, is_elementwise
from tfaudit.compress.shrinking.steps import ChannelwiseStep, MixingStep, OpaqueStep, Step

__all__ = ["WEIGHTED_LAYERS", "normalisation_step", "weighted_steps"]

CONVOLUTIONS = {layers.Conv1D, layers.Conv2D, layers.Conv3D}
TRANSPOSED = {layers.Conv1DTranspose, layers.Conv2DTranspose, layers.Conv3DTranspose}
DEPTHWISE = {layers.DepthwiseConv1D, layers.DepthwiseConv2D}
SEPARABLE = {layers.SeparableConv1D, layers.SeparableConv2D}
WEIGHTED_LAYERS = CONVOLUTIONS | TRANSPOSED | DEPTHWISE | SEPARABLE | {layers.Dense}
"""Classes that `weighted_steps` handles, without their subclasses, which may compute anything."""


def weighted_steps(layer: Any, tensor: Hashable, output: Hashable) -> list[Step]:
    """Return the steps of a convolution or dense layer: its weighted sum, and its activation."""
    kind, name = type(layer), layer.name
    summed = (output, "before the activation")
    bias = _array(layer.bias) if layer.use_bias else None
    padded = kind is not layers.Dense and layer.padding != "valid" and any(size > 1 for size in layer.kernel_size)
    activation = _activation(layer, summed, output)
    if kind is layers.Dense:
        return [MixingStep(name, tensor, summed, _array(layer.kernel), bias, padded, count="units"), activation]
    if kind in TRANSPOSED:  # Outputs near the border have fewer contributions, whatever the padding.
        kernel = np.swapaxes(_array(layer.kernel), -1, -2)
        return [MixingStep(name, tensor, summed, kernel, bias, True, transposed=True), activation]
    if kind in DEPTHWISE:
        return [_depthwise(layer, layer.kernel, tensor, summed, bias, padded), activation]
    if kind in SEPARABLE:
        between, variable = (output, "between the convolutions"), "pointwise_kernel"
        pointwise = MixingStep(name, between, summed, _array(layer.pointwise_kernel), bias, False, variable=variable)
        return [_depthwise(layer, layer.depthwise_kernel, tensor, between, None, padded), pointwise, activation]
    return [MixingStep(name, tensor, summed, _array(layer.kernel), bias, padded), activation]


def _activation(layer: Any, summed: Hashable, output: Hashable) -> Step:
    if type(layer) in DEPTHWISE:
        count = int(np.prod(layer.kernel.shape[-2:]))
    else:
        count = layer.units if type(layer) is layers.Dense else layer.filters
    if is_elementwise(layer.activation):
        values = function_of_constants(layer.activation)
        return ChannelwiseStep(layer.name, (summed,), output, (np.arange(count),), values=values)
    return OpaqueStep(layer.name, (summed,), {output: count}, "its activation is not known to be elementwise")


def _depthwise(
    layer: Any, variable: Any, tensor: Hashable, output: Hashable, bias: np.ndarray | None, padded: bool
) -> ChannelwiseStep:
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

    def resize(channels: ChannelStates) -> LayerChange:
        weights = {variable.name: kernel[..., channels.needed[tensor], :]}
        return LayerChange(weights=weights if bias is None else weights | {"bias": bias[channels.needed[output]]})

    return ChannelwiseStep(layer.name, (tensor,), output, (source,), values=values, resize=resize)


def normalisation_step(layer: Any, tensor: Hashable, output: Hashable) -> ChannelwiseStep:
    """Return the step of batch normalisation over the last axis, with its moving statistics."""
    mean, variance = _array(layer.moving_mean), _array(layer.moving_variance)
    slope = (_array(layer.gamma) if layer.scale else 1) / np.sqrt(variance.astype(np.float64) + layer.epsilon)
    offset = _array(layer.beta) if layer.center else 0.0

    def values(constants: list[np.ndarray]) -> np.ndarray:
        return np.where(slope == 0, 0.0, (constants[0] - mean) * slope) + offset

    def resize(channels: ChannelStates) -> LayerChange:
        needed = channels.needed[output]
        return LayerChange(weights={variable.name: _array(variable)[needed] for variable in layer.weights})

    return ChannelwiseStep(layer.name, (tensor,), output, (np.arange(mean.size),), values=values, resize=resize)


def _array(variable: Any) -> np.ndarray:
    return keras.ops.convert_to_numpy(variable).astype(np.float32, copy=False)
