"""Rewriting of a Keras model for quantization-aware training."""

import collections
from collections.abc import Iterable, Iterator
from typing import Any

import keras

from tfaudit.compress.keras_model import float32_compute, require_keras_model, require_tensorflow
from tfaudit.compress.last_layers import kept_layers
from tfaudit.compress.layer_kinds import SEPARABLE, layer_kinds
from tfaudit.compress.litert.learned_ranges import is_quantization_aware
from tfaudit.errors import InputError, listed, require
from tfaudit.extensions.quantization_aware.fake_quantization import FakeQuantization
from tfaudit.extensions.quantization_aware.layers import (
    WEIGHTED,
    FakeQuantizedWeights,
    RangedConcatenation,
    UnfoldedNormalization,
    contracted_axes,
    separable_parts,
)
from tfaudit.runtime.keras_internals import (
    calls_in,
    calls_of,
    has_calls,
    maker,
    mark_dense,
    readers_of,
)

L = keras.layers

SAME_RANGE = layer_kinds(
    "MaxPooling{}D",
    "AveragePooling{}D",
    "GlobalMaxPooling{}D",
    "ZeroPadding{}D",
    "Cropping{}D",
    "UpSampling2D",
    "Flatten",
    "Reshape",
    "Permute",
    "Identity",
    "ActivityRegularization",
    "Dropout",
    "SpatialDropout{}D",
    "GaussianNoise",
    "GaussianDropout",
    dimensions=(1, 2),
)
"""Layers whose output has the range of their input."""

PREPROCESSING = layer_kinds("Rescaling", "Normalization")
"""Layers that stay in float if they come first in a model."""

OWN_RANGE = (*layer_kinds("GlobalAveragePooling{}D", dimensions=(1, 2)), *PREPROCESSING)
"""Layers without weights to round whose output has another range than their input."""

FLOAT_INSIDE = layer_kinds("LayerNormalization", "GroupNormalization", dimensions=(1,))
"""Layers that compute in float between an int8 input and an int8 output: variances have too few steps in int8."""

KINDS = {
    L.InputLayer: "input",
    **dict.fromkeys(SAME_RANGE, "same range"),
    **dict.fromkeys((*OWN_RANGE, *FLOAT_INSIDE), "own range"),
    **dict.fromkeys((L.Add, L.Subtract, L.Multiply), "sum"),
}
"""Kinds of rounding of layers, for layers that are always rounded in the same way."""

OWN_LAYERS = {"LayerScale": "own range", "StochasticDepth": "same range"}
"""Kinds of rounding of layers of `keras.applications`, which has no public names for them."""

OPERATIONS = {
    **dict.fromkeys(("Add", "Subtract", "Multiply"), "sum"),
    "Reshape": "same range",
    "Mean": "own range",
}
"""Kinds of rounding of `keras.ops` functions, by the names of their operations."""

ACTIVATIONS = {
    **dict.fromkeys(("relu", "relu6"), "fused"),
    **dict.fromkeys(("softmax", "sigmoid", "tanh"), "fixed range"),
    "linear": "same range",
    **dict.fromkeys(("silu", "hard_silu", "gelu", "leaky_relu"), "own range"),
}
"""Kinds of activations: TensorFlow Lite fuses some with the operation before, and knows the range of others."""

RELUS = {
    (None, False, False): "relu",
    (6, False, False): "relu6",
    (None, True, False): "leaky_relu",
}
"""Activation of a ReLU layer, by its largest value and whether it has a slope and a threshold."""


def quantization_aware(
    model: keras.Model, *, float_layers: Iterable[str] | str = (), momentum: float = 0.99
) -> keras.Model:
    """Return a copy of a model for quantization-aware training; `quantize(..., "int8")` then needs no images.

    The copy has the model's weights and is trained like any other model: `compile` and `fit` it. In every forward pass,
    the weights are rounded to int8 with a scale per channel, and activations to 256 values in a range that follows the
    batches (moving averages of their lowest and highest value); gradients pass the rounding unchanged [own design,
    after Jacob et al. 2018]. Values are rounded where TensorFlow Lite rounds them: not between a convolution and the
    BatchNormalization and ReLU that are fused with it. Zeros of weights stay exactly zero, so pruning callbacks such as
    `HoldMasks.from_zeros(copy)` work as on the model itself, and pruned weights are zeros in the int8 file.

    Rounding covers convolutions (one and two dimensions, depthwise and separable, and Conv2DTranspose), Dense,
    EinsumDense, BatchNormalization, sums, products, pooling, common activations (also GELU and hard swish), layers that
    only move values, and a Concatenate of tensors that no other layer takes. LayerNormalization and GroupNormalization
    take and return int8 values and compute in float. Nested models are rewritten too.

    Args:
        model: a built functional or sequential Keras 3 model, which does not change. The copy of one in mixed precision
            computes in float32.
        float_layers: names of layers that stay in float, including all layers of other kinds; "last" stands for the
            last layers, as in `quantize`. No layers by default.
        momentum: weight of earlier batches in the ranges of the activations, in [0, 1).

    Raises:
        InputError: the model is subclassed, or a layer of another kind is not in `float_layers`.

    >>> keras.utils.set_random_seed(0)
    >>> model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, "relu"), keras.layers.Dense(2)])
    >>> aware = quantization_aware(model)
    >>> aware.compile("sgd", "mse")
    >>> history = aware.fit(keras.ops.ones((8, 4)), keras.ops.ones((8, 2)), verbose=0)
    >>> from tfaudit import quantize
    >>> quantize(aware, "int8")[4:8]
    b'TFL3'
    """
    require_tensorflow()
    model = require_keras_model(model)
    require(0 <= momentum < 1, "momentum", momentum, "a share in [0, 1)")
    float_names = check_rounding(model, float_layers)
    with float32_compute(model):
        return _rewritten(model, float_names, momentum)


def check_rounding(model: keras.Model, float_layers: Iterable[str] | str) -> set[str]:
    """Return the names of the layers that stay in float; raise an `InputError` unless all others can be rounded."""
    kept = kept_layers(model, float_layers).values()
    float_names = {layer.name for layers in kept for layer in layers}
    if is_quantization_aware(model):
        raise InputError(
            "model",
            f"{model.name!r}, which is quantization-aware already",
            "a model of float layers",
        )
    unknown = [
        f"{op.name!r} ({type(op).__name__})"
        for op in _operations(model, float_names)
        if _kind(op) is None
    ]
    if unknown:
        got = f"layers that have no int8 rounding here: {listed(unknown, 5)}"
        raise InputError("model", got, "others, or their names in float_layers")
    return float_names


def _operations(model: Any, float_names: set[str]) -> Iterator[Any]:
    """Yield the operations to be rounded, including those of nested models."""
    if not has_calls(model) and not isinstance(model, keras.Sequential):
        raise InputError(
            "model", f"{model.name!r}, a subclassed model", "a functional or sequential model"
        )
    for operation in model.layers if isinstance(model, keras.Sequential) else model.operations:
        if operation.name in float_names:
            continue
        if isinstance(operation, keras.Model):
            yield from _operations(operation, float_names)
        else:
            yield operation


def _is_usual(layer: Any) -> bool:
    """Return whether the converter rounds a layer's weights, axes and activation as this module does."""
    if type(layer) is L.EinsumDense and not contracted_axes(layer):
        return False
    channels_last = getattr(layer, "data_format", "channels_last") == "channels_last"
    has_lora = getattr(layer, "lora_enabled", False)
    return _activation(layer) in ACTIVATIONS and channels_last and not has_lora


def _reads_alone(operation: Any) -> bool:
    """Return whether no other operation reads the inputs, since the converter cannot give a tensor two ranges."""
    sources = [tensor for call in calls_of(operation) for tensor in call.input_tensors]
    return all(readers_of(tensor) == 1 for tensor in sources)


def _kind(operation: Any) -> str | None:
    """Return how an operation is rounded; None if it cannot be."""
    kind = type(operation)
    if kind in WEIGHTED or kind in SEPARABLE:
        return "weights" if _is_usual(operation) else None
    if kind is L.BatchNormalization:
        return "normalisation" if operation.axis in (-1, operation.input_spec.ndim - 1) else None
    if kind is L.Concatenate:
        return "concatenation" if _reads_alone(operation) else None
    if kind in (L.ReLU, L.LeakyReLU, L.Softmax, L.Activation):
        return ACTIVATIONS.get(_activation(operation))
    if isinstance(operation, L.Layer):
        return KINDS.get(kind, OWN_LAYERS.get(kind.__name__))
    return OPERATIONS.get(kind.__name__, ACTIVATIONS.get(kind.__name__.lower()))


def _activation(layer: Any) -> str:
    """Return the name of a layer's activation, or of the activation that the layer itself is."""
    if isinstance(layer, L.ReLU):
        settings = (layer.max_value, bool(layer.negative_slope), bool(layer.threshold))
        return RELUS.get(settings, "relu of other settings")
    if isinstance(layer, L.LeakyReLU | L.Softmax):
        return "leaky_relu" if isinstance(layer, L.LeakyReLU) else "softmax"
    return str(getattr(layer.activation, "__name__", type(layer.activation).__name__))


def _rewritten(model: Any, float_names: set[str], momentum: float) -> keras.Model:
    functional = model
    if isinstance(model, keras.Sequential):
        functional = keras.Model(model.inputs, model.outputs, name=model.name)
    rewriting = _Rewriting(functional, float_names, momentum)
    # A Sequential has no graph of its own to rewrite, and its compilation stays with it.
    aware = keras.models.clone_model(
        functional, clone_function=lambda layer: layer, call_function=rewriting.call
    )
    rewriting.set_weights()
    if functional is not model and model.compiled:
        aware.compile_from_config(model.get_compile_config())
    return aware


class _Rewriting:
    """Copy of a functional model that is built operation by operation.

    A tensor gets a single range when the first operation that needs one takes it, unless TensorFlow Lite fuses this
    operation with the one before.
    """

    def __init__(self, model: Any, float_names: set[str], momentum: float) -> None:
        self._float_names = float_names
        self._momentum = momentum
        self._sole = _sole_consumers(model)
        self._ends = set(model.outputs)
        self._copies: dict[Any, Any] = {}  # copies by operation
        self._weights: list[tuple[Any, list[Any]]] = []
        self._ranged: dict[Any, Any] = {}  # by tensor: the same tensor with a range
        self._fusable: dict[Any, str] = {}  # by tensor: its maker, if the next may be fused
        self._float: set[Any] = set()  # tensors made by float operations only
        self._names: collections.Counter[str] = collections.Counter()

    def set_weights(self) -> None:
        """Copy the model's weights to the copies, which have variables now."""
        for layer, weights in self._weights:
            layer.set_weights(weights)

    def call(self, operation: Any, *args: Any, **options: Any) -> Any:
        """Call the copy of an operation on tensors of the new model."""
        # A nested model rounds its own inputs and outputs.
        if isinstance(operation, keras.Model) and operation.name not in self._float_names:
            made = self._copy(operation)(*args, **options)
            return keras.tree.map_structure(self._has_range, made)
        made = self._called(operation, args, options)
        own = [tensor for call in calls_of(operation) for tensor in call.output_tensors]
        is_end = not self._ends.isdisjoint(own)
        return keras.tree.map_structure(self._as_float, made) if is_end else made

    def _called(self, operation: Any, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
        x = args[0]
        kind = _kind(operation)
        copy = self._copy(operation)
        before = self._maker(x)
        if self._stays_float(operation, kind, x):
            made = copy(*keras.tree.map_structure(self._as_float, args), **options)
            self._float.update(keras.tree.flatten(made))
            return self._fusable_after(operation, made, "float")
        if kind == "weights":
            for part in copy:
                x = part(self._with_range(x))
            return self._activated(operation, x)
        if kind == "normalisation":
            training = {name: value for name, value in options.items() if name == "training"}
            folds = before == "weights"
            made = copy.layer(x, **training) if folds else copy(self._with_range(x), **training)
            return self._fusable_after(operation, made, "normalised")
        if kind == "fused" and before:
            return copy(*args, **options)
        if kind == "concatenation":  # has one range for all inputs
            return self._has_range(copy(*args))
        made = copy(*keras.tree.map_structure(self._with_range, args), **options)
        if kind in ("same range", "fixed range"):
            return self._has_range(made)
        return self._fusable_after(operation, made, "sum") if kind == "sum" else made

    def _activated(self, operation: Any, made: Any) -> Any:
        """Apply the activation of a layer with weights, unless it is linear or fused."""
        name = _activation(operation)
        if ACTIVATIONS[name] == "fused":
            return made
        if name == "linear":
            # A matrix product is followed by a reshape, with which nothing is fused.
            reshaped = isinstance(operation, L.Dense | L.EinsumDense) and len(made.shape) > 2
            return made if reshaped else self._fusable_after(operation, made, "weights")
        activation = L.Activation(
            operation.activation, name=self._named(f"{operation.name}_activation")
        )
        made = activation(self._with_range(made))
        return self._has_range(made) if ACTIVATIONS[name] == "fixed range" else made

    def _copy(self, operation: Any) -> Any:
        """Return the copy of an operation; an operation with weights becomes wrapped layers."""
        if operation not in self._copies:
            self._copies[operation] = self._new_copy(operation)
        return self._copies[operation]

    def _new_copy(self, operation: Any) -> Any:
        if not isinstance(operation, L.Layer):
            return operation
        float_names = operation.name in self._float_names
        if isinstance(operation, keras.Model) and not float_names:
            return _rewritten(operation, self._float_names, self._momentum)
        kind = None if float_names else _kind(operation)
        if kind == "weights":
            fused = ACTIVATIONS[_activation(operation)] == "fused"
            config = operation.get_config() | ({} if fused else {"activation": "linear"})
            parts = [(type(operation).from_config(config), operation.get_weights())]
            if type(operation) in SEPARABLE:
                parts = separable_parts(config, type(operation), operation.get_weights())
            self._weights.extend(parts)
            return [FakeQuantizedWeights(layer, name=layer.name) for layer, _ in parts]
        copy = type(operation).from_config(operation.get_config())
        self._weights.append((copy, operation.get_weights()))
        if kind == "concatenation":
            return RangedConcatenation(copy, self._momentum, name=operation.name)
        if kind == "normalisation":
            return UnfoldedNormalization(copy, name=operation.name)
        return copy

    def _stays_float(self, operation: Any, kind: str | None, x: Any) -> bool:
        if operation.name in self._float_names:
            return True
        fused = self._maker(x) == "float" and kind in ("normalisation", "fused")
        return fused or (isinstance(operation, PREPROCESSING) and self._is_float(x))

    def _is_float(self, x: Any) -> bool:
        """Return whether a tensor comes from the model's input, or from operations that stay in float."""
        return x in self._float or isinstance(maker(x), L.InputLayer)

    def _as_float(self, x: Any) -> Any:
        """Return a tensor in the form for an operation that stays in float."""
        return x if self._is_float(x) else self._with_range(x)

    def _maker(self, x: Any) -> str | None:
        """Return the kind of a tensor's maker, if the next operation may be fused with it."""
        return self._fusable.get(x) if isinstance(x, keras.KerasTensor) else None

    def _fusable_after(self, operation: Any, made: Any, maker: str) -> Any:
        """Record the kind of a tensor's maker, if only one operation takes the tensor; return the tensor."""
        if operation in self._sole:
            self._fusable[made] = maker
        return made

    def _has_range(self, tensor: Any) -> Any:
        """Record that a tensor needs no range of its own, and return it."""
        self._ranged[tensor] = tensor
        return tensor

    def _with_range(self, tensor: Any) -> Any:
        """Return a tensor rounded to its range, which is the same for all operations that take it."""
        is_tensor = isinstance(tensor, keras.KerasTensor)
        if not is_tensor or not keras.backend.is_float_dtype(tensor.dtype):
            return tensor
        if tensor not in self._ranged:
            name = self._named(f"{maker(tensor).name}_range")
            mark_dense(tensor)
            ranged = FakeQuantization(self._momentum, name=name)(tensor)
            self._ranged[tensor] = self._has_range(ranged)
        return self._ranged[tensor]

    def _named(self, name: str) -> str:
        self._names[name] += 1
        return name if self._names[name] == 1 else f"{name}_{self._names[name]}"


def _sole_consumers(model: Any) -> set[Any]:
    """Return operations that are called once and whose output only one operation takes."""
    nodes = [node for node in calls_in(model) if not node.is_input]
    taken = collections.Counter(tensor for node in nodes for tensor in node.input_tensors)
    taken.update(model.outputs)
    calls = collections.Counter(node.operation for node in nodes)
    return {
        node.operation
        for node in nodes
        if calls[node.operation] == 1 and all(taken[tensor] == 1 for tensor in node.output_tensors)
    }
