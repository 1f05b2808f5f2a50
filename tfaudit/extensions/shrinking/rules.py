"""Rules that translate each call of a Keras operation into steps."""

from collections.abc import Hashable
from functools import partial
from itertools import pairwise
from typing import Any

import keras
import numpy as np
from keras import layers

from tfaudit.compress.layer_kinds import DEPTHWISE, SEPARABLE, TRANSPOSED, WEIGHTED, layer_kinds
from tfaudit.extensions.shrinking.elementwise import (
    is_elementwise,
    values_of_call,
    values_of_function,
)
from tfaudit.extensions.shrinking.layer_rewrites import (
    ChannelStates,
    ChannelwiseStep,
    LayerChange,
    MixingStep,
    OpaqueStep,
    Step,
)

PADDING = layer_kinds("ZeroPadding{}D")
PASSING = layer_kinds(
    "Dropout",
    "GaussianDropout",
    "GaussianNoise",
    "AlphaDropout",
    "SpatialDropout{}D",
    "Identity",
    "ActivityRegularization",
    "UpSampling{}D",
    "Cropping{}D",
    "MaxPooling{}D",
    "AveragePooling{}D",
    "GlobalMaxPooling{}D",
    "GlobalAveragePooling{}D",
)


def width(tensor: keras.KerasTensor) -> int:
    """Return the number of channels of a tensor, the size of its last axis; 1 if it is not fixed."""
    return tensor.shape[-1] if len(tensor.shape) > 1 and tensor.shape[-1] else 1


def steps_of(node: Any, *, calls: int) -> list[Step]:
    """Return the steps of one call, a Keras node. Weights shared by several `calls` do not change."""
    operation = node.operation
    outputs = {tensor: width(tensor) for tensor in node.outputs}
    opaque = partial(OpaqueStep, operation.name, tuple(node.input_tensors), outputs)
    if reason := _obstacle(node):
        return [opaque(reason)]
    steps = _known(node)
    if not steps:
        return [opaque(f"no rule for {type(operation).__name__} with these arguments")]
    resized = getattr(operation, "weights", ()) or any(
        getattr(step, "resize", None) for step in steps
    )
    return [opaque(f"it is called {calls} times")] if calls > 1 and resized else steps


def _obstacle(node: Any) -> str | None:
    operation = node.operation
    if isinstance(operation, keras.Model):
        return "a model inside the model"
    if node.arguments.kwargs.get("training"):
        return "it is called with training=True"
    if getattr(operation, "data_format", None) == "channels_first":
        return "its channels are not the last axis"
    if getattr(operation, "lora_enabled", False) or getattr(operation, "quantization_mode", None):
        return "its kernel is quantized or has a part of low rank"
    if getattr(operation, "groups", 1) > 1:
        return f"it has groups={operation.groups}"
    return None


def _known(node: Any) -> list[Step]:
    """Return the steps of a call with one output whose channels are known; none if there is no rule."""
    operation = node.operation
    tensors = node.input_tensors
    kind = type(operation)
    known = all(len(t.shape) >= 2 and t.shape[-1] for t in (*tensors, *node.outputs))
    if len(node.outputs) != 1 or not tensors or not known:
        return []
    if kind.__name__ == "Concatenate":
        return [_concatenated(node)]
    if is_elementwise(operation) and _broadcasts(node):
        # A single channel that is broadcast to many is tied to none of them, and stays as the only one.
        same = _all_channels(node)
        none = np.full_like(same, -1)
        sources = tuple(same if width(tensor) == same.size else none for tensor in tensors)
        return [_channelwise(node, *sources, values=values_of_call(node))]
    return _of_one_tensor(node) if len(tensors) == 1 else []


def _of_one_tensor(node: Any) -> list[Step]:
    operation = node.operation
    kind = type(operation)
    if kind in WEIGHTED:
        return _weighted(node)
    last = len(node.outputs[0].shape) - 1
    if kind is layers.BatchNormalization and operation.axis in (-1, last):
        return [_normalised(node)]
    if kind in PASSING or kind in PADDING:
        return [_channelwise(node, _all_channels(node), pads=kind in PADDING)]
    if kind in (layers.Flatten, layers.Reshape):
        return _reshaped(node)
    if kind.__name__ == "Pad" and kind.__module__ == "keras.src.ops.numpy":
        return _padded(node)
    return []


def _all_channels(node: Any) -> np.ndarray:
    """Return the numbers of the output channels."""
    return np.arange(width(node.outputs[0]))


def _channelwise(node: Any, *sources: np.ndarray, **settings: Any) -> ChannelwiseStep:
    """Return the step of a call; `sources` has the source of each output channel, for each input."""
    inputs = tuple(node.input_tensors)
    return ChannelwiseStep(node.operation.name, inputs, node.outputs[0], sources, **settings)


def _broadcasts(node: Any) -> bool:
    """Return whether the tensors have equal ranks and the other arguments are single numbers."""
    output = node.outputs[0]
    others = keras.tree.flatten((node.arguments.args, node.arguments.kwargs))
    return all(
        len(tensor.shape) == len(output.shape) and width(tensor) in (1, width(output))
        for tensor in node.input_tensors
    ) and all(
        other is None or isinstance(other, keras.KerasTensor | int | float | np.number)
        for other in others
    )


def _reshaped(node: Any) -> list[Step]:
    layer = node.operation
    [tensor] = node.input_tensors
    output = node.outputs[0]
    source = np.arange(width(tensor))
    if output.shape[-1] != tensor.shape[-1]:
        if len(output.shape) != 2 or None in tensor.shape[1:]:
            return []
        source = np.tile(source, int(np.prod(tensor.shape[1:-1])))
    if type(layer) is layers.Flatten or layer.target_shape[-1] == -1:
        return [_channelwise(node, source)]

    def resize(channels: ChannelStates) -> LayerChange:
        left = int(channels.needed[output].sum())
        return LayerChange({"target_shape": (*layer.target_shape[:-1], left)})

    return [_channelwise(node, source, resize=resize)]


def _concatenated(node: Any) -> ChannelwiseStep:
    tensors = node.input_tensors
    places = _all_channels(node)
    if node.operation.axis not in (-1, len(node.outputs[0].shape) - 1):
        return _channelwise(node, *[places] * len(tensors), values=_agreed)
    starts = np.cumsum([0, *map(width, tensors)])
    sources = [
        np.where((places >= start) & (places < end), places - start, -1)
        for start, end in pairwise(starts)
    ]
    return _channelwise(node, *sources)


def _agreed(constants: list[np.ndarray]) -> np.ndarray:
    same = np.all([constant == constants[0] for constant in constants], axis=0)
    return np.where(same, constants[0], np.nan)


def _padded(node: Any) -> list[Step]:
    """Return the step that pads zeros as channels, as in He et al.'s option A shortcuts, or around the image."""
    operation = node.operation
    [tensor] = node.input_tensors
    output = node.outputs[0]
    if operation.mode != "constant" or (node.arguments.kwargs.get("constant_values") or 0) != 0:
        return []
    widths = np.broadcast_to(operation.pad_width, (len(output.shape), 2)).tolist()
    before = widths[-1][0]
    place = _all_channels(node) - before
    source = np.where((place >= 0) & (place < width(tensor)), place, -1)

    def resize(channels: ChannelStates) -> LayerChange:
        needed = channels.needed[output]
        ends = [int(needed[:before].sum()), int(needed[before + width(tensor) :].sum())]
        return LayerChange({"pad_width": [*widths[:-1], ends]})

    return [_channelwise(node, source, pads=any(map(any, widths[:-1])), resize=resize)]


def _weighted(node: Any) -> list[Step]:
    """Return the steps of a convolution or dense layer: its weighted sum and its activation."""
    layer = node.operation
    kind = type(layer)
    [tensor] = node.input_tensors
    output = node.outputs[0]
    between = (output, "between the convolutions")
    summed = (output, "before the activation")
    bias = _array(layer.bias) if layer.use_bias else None
    padded = (
        kind is not layers.Dense
        and layer.padding != "valid"
        and any(size > 1 for size in layer.kernel_size)
    )
    mixing = partial(MixingStep, layer.name, output=summed, bias=bias)
    steps: list[Step]
    if kind in DEPTHWISE:
        steps = [_depthwise(layer, layer.kernel, tensor, summed, bias, padded)]
    elif kind in SEPARABLE:
        pointwise = _array(layer.pointwise_kernel)
        steps = [
            _depthwise(layer, layer.depthwise_kernel, tensor, between, None, padded),
            mixing(between, kernel=pointwise, padded=False, variable="pointwise_kernel"),
        ]
    elif kind in TRANSPOSED:
        kernel = np.swapaxes(_array(layer.kernel), -1, -2)
        # Outputs near the border have fewer contributions, whatever the padding.
        steps = [mixing(tensor, kernel=kernel, padded=True, transposed=True)]
    else:
        count = "units" if kind is layers.Dense else "filters"
        steps = [mixing(tensor, kernel=_array(layer.kernel), padded=padded, count=count)]
    return [*steps, _activation(layer, summed, output)]


def _activation(layer: Any, summed: Hashable, output: keras.KerasTensor) -> Step:
    if not is_elementwise(layer.activation):
        reason = "its activation is not known to be elementwise"
        return OpaqueStep(layer.name, (summed,), {output: width(output)}, reason)
    values = values_of_function(layer.activation)
    sources = (np.arange(width(output)),)
    return ChannelwiseStep(layer.name, (summed,), output, sources, values=values)


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
    silent = ~kernel.any(axis=places).ravel()
    total = kernel.sum(axis=places, dtype=np.float64).ravel()

    def values(constants: list[np.ndarray]) -> np.ndarray:
        constant = constants[0][source]
        if padded:
            constant = np.where(constant == 0, 0.0, np.nan)
        return np.where(silent, 0.0, constant * total) + (0.0 if bias is None else bias)

    def resize(channels: ChannelStates) -> LayerChange:
        weights = {variable.name: kernel[..., channels.needed[tensor], :]}
        if bias is not None:
            weights["bias"] = bias[channels.needed[output]]
        return LayerChange(weights=weights)

    return ChannelwiseStep(layer.name, (tensor,), output, (source,), values=values, resize=resize)


def _normalised(node: Any) -> ChannelwiseStep:
    """Return the step of batch normalisation over the last axis, with its moving statistics."""
    layer = node.operation
    mean = _array(layer.moving_mean)
    variance = _array(layer.moving_variance)
    gamma = _array(layer.gamma) if layer.scale else 1
    slope = gamma / np.sqrt(variance.astype(np.float64) + layer.epsilon)
    offset = _array(layer.beta) if layer.center else 0.0

    def values(constants: list[np.ndarray]) -> np.ndarray:
        return np.where(slope == 0, 0.0, (constants[0] - mean) * slope) + offset

    def resize(channels: ChannelStates) -> LayerChange:
        needed = channels.needed[node.outputs[0]]
        return LayerChange(weights={v.name: _array(v)[needed] for v in layer.weights})

    return _channelwise(node, _all_channels(node), values=values, resize=resize)


def _array(variable: Any) -> np.ndarray:
    return keras.ops.convert_to_numpy(variable).astype(np.float32, copy=False)
