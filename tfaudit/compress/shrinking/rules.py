"""Rules that turn each call of a Keras operation into steps."""

from collections.abc import Callable, Hashable
from functools import partial
from itertools import pairwise
from typing import Any

import keras
import numpy as np
from keras import layers

from tfaudit.compress.shrinking.elementwise import (
    function_of_constants,
    is_elementwise,
    operation_of_constants,
)
from tfaudit.compress.shrinking.steps import (
    ChannelStates,
    ChannelwiseStep,
    LayerChange,
    MixingStep,
    OpaqueStep,
    Step,
)


def _for_all_dimensions(name: str) -> set[type]:
    return {getattr(layers, name.format(dimensions)) for dimensions in (1, 2, 3)}


TRANSPOSED = _for_all_dimensions("Conv{}DTranspose")
DEPTHWISE = {layers.DepthwiseConv1D, layers.DepthwiseConv2D}
SEPARABLE = {layers.SeparableConv1D, layers.SeparableConv2D}
# Without their subclasses, which may compute anything.
WEIGHTED_LAYERS = (
    _for_all_dimensions("Conv{}D") | TRANSPOSED | DEPTHWISE | SEPARABLE | {layers.Dense}
)
PADDING = _for_all_dimensions("ZeroPadding{}D")
PASSING = {
    layers.Dropout,
    layers.GaussianDropout,
    layers.GaussianNoise,
    layers.AlphaDropout,
    layers.Identity,
    layers.ActivityRegularization,
    *_for_all_dimensions("SpatialDropout{}D"),
    *(_for_all_dimensions("UpSampling{}D") | _for_all_dimensions("Cropping{}D")),
    *(_for_all_dimensions("MaxPooling{}D") | _for_all_dimensions("AveragePooling{}D")),
    *(_for_all_dimensions("GlobalMaxPooling{}D") | _for_all_dimensions("GlobalAveragePooling{}D")),
}


def width(tensor: keras.KerasTensor) -> int:
    """Return the number of channels of a tensor, its last axis; 1 if that is not fixed."""
    return tensor.shape[-1] if len(tensor.shape) > 1 and tensor.shape[-1] else 1


def steps_of(node: Any, *, calls: int) -> list[Step]:
    """Return the steps of one call, a Keras node. Weights that several `calls` of an operation share do not change."""
    operation = node.operation
    inputs = tuple(id(tensor) for tensor in node.input_tensors)
    opaque = partial(
        OpaqueStep, operation.name, inputs, {id(tensor): width(tensor) for tensor in node.outputs}
    )
    if isinstance(operation, keras.Model):
        return [opaque("a model inside the model")]
    if reason := _obstacle(node):
        return [opaque(reason)]
    steps = _known(node, inputs)
    if not steps:
        return [opaque(f"no rule for {type(operation).__name__} with these arguments")]
    resized = getattr(operation, "weights", ()) or any(
        getattr(step, "resize", None) for step in steps
    )
    return [opaque(f"it is called {calls} times")] if calls > 1 and resized else steps


def _obstacle(node: Any) -> str | None:
    operation = node.operation
    if node.arguments.kwargs.get("training"):
        return "it is called with training=True"
    if getattr(operation, "data_format", None) == "channels_first":
        return "its channels are not the last axis"
    if getattr(operation, "lora_enabled", False) or getattr(operation, "quantization_mode", None):
        return "its kernel is quantized or has a part of low rank"
    if getattr(operation, "groups", 1) > 1:
        return f"it has groups={operation.groups}"
    return None


def _have_channels(*tensors: Any) -> bool:
    """Return whether all tensors have a known number of channels, in their last axis."""
    return all(len(tensor.shape) >= 2 and tensor.shape[-1] for tensor in tensors)


def _known(node: Any, inputs: tuple[int, ...]) -> list[Step]:
    operation = node.operation
    tensors = node.input_tensors
    output = node.outputs[0]
    kind = type(operation)
    if len(node.outputs) != 1 or not tensors or not _have_channels(*tensors, output):
        return []
    step = partial(ChannelwiseStep, operation.name, inputs, id(output))
    same = np.arange(width(output))
    if kind.__name__ == "Concatenate":
        return _concatenated(step, operation, tensors, output)
    if is_elementwise(operation) and _broadcasts(node, tensors, output):
        # A single channel that is broadcast to many is tied to none of them, and stays because it is the only one.
        none = np.full_like(same, -1)
        sources = tuple(same if width(one) == width(output) else none for one in tensors)
        return [step(sources, values=operation_of_constants(node, tensors))]
    return _of_one_input(node, kind, inputs, step) if len(tensors) == 1 else []


def _of_one_input(
    node: Any, kind: type, inputs: tuple[int, ...], step: Callable[..., ChannelwiseStep]
) -> list[Step]:
    operation = node.operation
    tensors = node.input_tensors
    output = node.outputs[0]
    same = np.arange(width(output))
    if kind in WEIGHTED_LAYERS:
        return _weighted_steps(operation, inputs[0], id(output))
    if kind is layers.BatchNormalization and operation.axis in (-1, len(output.shape) - 1):
        return [_normalisation_step(operation, inputs[0], id(output))]
    if kind in PASSING | PADDING:
        return [step((same,), pads=kind in PADDING)]
    if kind in (layers.Flatten, layers.Reshape):
        return _reshaped(step, operation, tensors[0], output)
    if kind.__name__ == "Pad" and kind.__module__ == "keras.src.ops.numpy":
        return _padded(step, node, tensors[0], output)
    return []


def _reshaped(
    step: Any, layer: Any, tensor: keras.KerasTensor, output: keras.KerasTensor
) -> list[Step]:
    if output.shape[-1] == tensor.shape[-1]:
        source = np.arange(width(tensor))
    elif len(output.shape) == 2 and None not in tensor.shape[1:]:
        source = np.tile(np.arange(width(tensor)), int(np.prod(tensor.shape[1:-1])))
    else:
        return []
    if type(layer) is layers.Flatten or layer.target_shape[-1] == -1:
        return [step((source,))]

    def resize(channels: ChannelStates) -> LayerChange:
        return LayerChange(
            {"target_shape": (*layer.target_shape[:-1], int(channels.needed[id(output)].sum()))}
        )

    return [step((source,), resize=resize)]


def _concatenated(
    step: Any, operation: Any, tensors: list, output: keras.KerasTensor
) -> list[Step]:
    if operation.axis not in (-1, len(output.shape) - 1):
        sources = tuple(np.arange(width(output)) for _ in tensors)
        return [step(sources, values=_agreed)]
    starts = np.cumsum([0, *map(width, tensors)])
    places = np.arange(width(output))
    parts = [
        np.where((places >= start) & (places < end), places - start, -1)
        for start, end in pairwise(starts)
    ]
    return [step(tuple(parts))]


def _agreed(constants: list[np.ndarray]) -> np.ndarray:
    return np.where(
        np.all([constant == constants[0] for constant in constants], axis=0), constants[0], np.nan
    )


def _padded(
    step: Any, node: Any, tensor: keras.KerasTensor, output: keras.KerasTensor
) -> list[Step]:
    """Return the step of zeros as additional channels, as in He et al.'s shortcuts of option A, or around the image."""
    operation = node.operation
    if operation.mode != "constant" or (node.arguments.kwargs.get("constant_values") or 0) != 0:
        return []
    widths = [tuple(pair) for pair in operation.pad_width] * (
        1 if len(operation.pad_width) > 1 else len(output.shape)
    )
    before = widths[-1][0]
    place = np.arange(width(output)) - before
    source = np.where((place >= 0) & (place < width(tensor)), place, -1)

    def resize(channels: ChannelStates) -> LayerChange:
        needed = channels.needed[id(output)]
        ends = (int(needed[:before].sum()), int(needed[before + width(tensor) :].sum()))
        return LayerChange({"pad_width": [*map(list, widths[:-1]), list(ends)]})

    return [step((source,), pads=any(map(any, widths[:-1])), resize=resize)]


def _broadcasts(node: Any, tensors: list, output: keras.KerasTensor) -> bool:
    """Return whether the tensors have one rank and the other arguments are single numbers."""
    others = keras.tree.flatten((node.arguments.args, node.arguments.kwargs))
    return (
        all(len(tensor.shape) == len(output.shape) for tensor in tensors)
        and all(width(tensor) in (1, width(output)) for tensor in tensors)
        and all(
            other is None or isinstance(other, keras.KerasTensor | int | float | np.number)
            for other in others
        )
    )


def _weighted_steps(layer: Any, tensor: Hashable, output: Hashable) -> list[Step]:
    """Return the steps of a convolution or dense layer: its weighted sum, and its activation."""
    kind = type(layer)
    name = layer.name
    summed = (output, "before the activation")
    bias = _array(layer.bias) if layer.use_bias else None
    padded = (
        kind is not layers.Dense
        and layer.padding != "valid"
        and any(size > 1 for size in layer.kernel_size)
    )
    activation = _activation(layer, summed, output)
    if kind is layers.Dense:
        return [
            MixingStep(name, tensor, summed, _array(layer.kernel), bias, padded, count="units"),
            activation,
        ]
    # Outputs near the border have fewer contributions, whatever the padding.
    if kind in TRANSPOSED:
        kernel = np.swapaxes(_array(layer.kernel), -1, -2)
        return [MixingStep(name, tensor, summed, kernel, bias, True, transposed=True), activation]
    if kind in DEPTHWISE:
        return [_depthwise(layer, layer.kernel, tensor, summed, bias, padded), activation]
    if kind in SEPARABLE:
        between = (output, "between the convolutions")
        variable = "pointwise_kernel"
        pointwise = MixingStep(
            name, between, summed, _array(layer.pointwise_kernel), bias, False, variable=variable
        )
        return [
            _depthwise(layer, layer.depthwise_kernel, tensor, between, None, padded),
            pointwise,
            activation,
        ]
    return [MixingStep(name, tensor, summed, _array(layer.kernel), bias, padded), activation]


def _activation(layer: Any, summed: Hashable, output: Hashable) -> Step:
    if type(layer) in DEPTHWISE:
        count = int(np.prod(layer.kernel.shape[-2:]))
    else:
        count = layer.units if type(layer) is layers.Dense else layer.filters
    if is_elementwise(layer.activation):
        values = function_of_constants(layer.activation)
        return ChannelwiseStep(layer.name, (summed,), output, (np.arange(count),), values=values)
    return OpaqueStep(
        layer.name, (summed,), {output: count}, "its activation is not known to be elementwise"
    )


def _depthwise(
    layer: Any,
    variable: Any,
    tensor: Hashable,
    output: Hashable,
    bias: np.ndarray | None,
    padded: bool,
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
        return LayerChange(
            weights=weights if bias is None else weights | {"bias": bias[channels.needed[output]]}
        )

    return ChannelwiseStep(layer.name, (tensor,), output, (source,), values=values, resize=resize)


def _normalisation_step(layer: Any, tensor: Hashable, output: Hashable) -> ChannelwiseStep:
    """Return the step of batch normalisation over the last axis, with its moving statistics."""
    mean = _array(layer.moving_mean)
    variance = _array(layer.moving_variance)
    slope = (_array(layer.gamma) if layer.scale else 1) / np.sqrt(
        variance.astype(np.float64) + layer.epsilon
    )
    offset = _array(layer.beta) if layer.center else 0.0

    def values(constants: list[np.ndarray]) -> np.ndarray:
        return np.where(slope == 0, 0.0, (constants[0] - mean) * slope) + offset

    def resize(channels: ChannelStates) -> LayerChange:
        needed = channels.needed[output]
        return LayerChange(
            weights={variable.name: _array(variable)[needed] for variable in layer.weights}
        )

    return ChannelwiseStep(
        layer.name, (tensor,), output, (np.arange(mean.size),), values=values, resize=resize
    )


def _array(variable: Any) -> np.ndarray:
    return keras.ops.convert_to_numpy(variable).astype(np.float32, copy=False)
