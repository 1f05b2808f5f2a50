"""Weights of a Keras model, also of one that Keras itself has quantized: unpacked, and without its scales."""

import dataclasses
from collections.abc import Iterator
from typing import Any

import keras
import numpy as np

from tfaudit.compress.pruning.kernels import KERNELS, find_kernels, owners
from tfaudit.compress.pruning.reached_sparsity import effective_values
from tfaudit.runtime.keras_internals import layers_in

_SYMMETRIC = ("int8", "float8")
"""Keras' modes of quantization in which a weight is zero where its number is; others have zero points."""


@dataclasses.dataclass(frozen=True)
class KerasWeights:
    """Numbers of the weights of a Keras model.

    Attributes:
        parameters: all weights, including normalisation and biases; scales of Keras' quantization are none.
        prunable: weights in kernels.
        zeros: zeros among them.
        packed: names of the kernels whose zeros cannot be counted.
    """

    parameters: int
    prunable: int
    zeros: int
    packed: tuple[str, ...] = ()


def keras_weights(model: keras.Model) -> KerasWeights:
    """Count the weights of a Keras model, and the zeros in its kernels, with what LoRA adds.

    Raises:
        InputError: the model is not a Keras 3 model, or has no variables yet.

    >>> model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, name="only")], name="net")
    >>> model.layers[0].quantize("int4")
    >>> keras_weights(model)
    KerasWeights(parameters=15, prunable=12, zeros=0, packed=('net/only/kernel',))
    """
    kernels = find_kernels(model)
    layers = owners(model, kernels)
    effective = {
        id(kernel): effective_values(kernel, layers[name]) for name, kernel in kernels.items()
    }
    quantized = [layer for layer in layers_in(model) if _is_quantized(layer)]
    plain = _outside(quantized, model)
    parameters = sum(int(np.prod(variable.shape)) for variable in plain)
    found = [effective[id(variable)] for variable in plain if id(variable) in effective]
    packed = []
    for layer in quantized:
        for name, values in _unpacked(layer):
            parameters += values.size
            if name in KERNELS and layer.quantization_mode in _SYMMETRIC:
                found.append(values)
            elif name in KERNELS:
                packed.append((f"{layer.path}/{name}", values.size))
    return KerasWeights(
        parameters,
        sum(values.size for values in found) + sum(size for _, size in packed),
        sum(int((values == 0).sum()) for values in found),
        tuple(name for name, _ in packed),
    )


def _outside(quantized: list[Any], model: keras.Model) -> list[keras.Variable]:
    """Return the variables of a model that Keras has not quantized: those of other layers, and what LoRA adds."""
    own = {
        id(variable)
        for layer in quantized
        for variable in layer.weights
        if not variable.name.startswith("lora_")
    }
    return [variable for variable in model.weights if id(variable) not in own]


def _is_quantized(layer: Any) -> bool:
    """Return whether Keras has quantized a layer, and says which of its variables are weights."""
    return bool(layer.quantization_mode) and hasattr(layer, "variable_serialization_spec")


def _unpacked(layer: Any) -> Iterator[tuple[str, np.ndarray]]:
    """Yield name and values of the weights of a quantized layer: what it would save if it were not quantized."""
    for name in layer.variable_serialization_spec[None]:
        values = getattr(layer, name, None)
        if values is None:  # such as no bias
            continue
        if name == "reverse_embeddings" and layer.quantization_mode == "int4":
            values = keras.quantizers.unpack_int4(values, layer.output_dim, axis=0)
        yield name, keras.ops.convert_to_numpy(values)
