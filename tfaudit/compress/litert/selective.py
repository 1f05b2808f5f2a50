"""Selective quantization: many int8 files from one calibration, with some operators in float."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import tensorflow as tf
from ai_edge_litert import schema_py_generated as schema

from tfaudit.compress.layer_calls import replaced_calls
from tfaudit.compress.litert.activation_ranges import histograms, percentile_range
from tfaudit.compress.litert.flatbuffer import Flatbuffer
from tfaudit.compress.model_inputs import Inputs
from tfaudit.runtime.tensorflow_internals import quantize_calibrated
from tfaudit.study.quantization import FLOAT


def marked(layers: Sequence[Any]) -> AbstractContextManager[None]:
    """Trace each layer inside its own name scope, by which `Operators` finds the layer's operators."""
    scopes = {layer: _scope(number) for number, layer in enumerate(layers)}
    return replaced_calls(scopes, lambda layer, call: _in_scope(call, scopes[layer]))


def _in_scope(call: Any, scope: str) -> Any:
    def in_scope(*args: Any, **options: Any) -> Any:
        with tf.name_scope(scope):
            return call(*args, **options)

    return in_scope


def _scope(number: int) -> str:
    return f"tfaudit_layer_{number}_"


def unmarked(operator: str) -> str:
    """Return the name of an operator in a file of the same model whose layers are not marked."""
    return re.sub(r"tfaudit_layer_\d+_/", "", operator)


class Operators:
    """Operators of a float flatbuffer, and the layers that they come from.

    Attributes:
        operands: names of each operator's float operands (not axes or shapes), by the name of the operator's result,
            which converters use as the operator's name.
    """

    def __init__(self, content: bytes) -> None:
        graph = schema.ModelT.InitFromObj(schema.Model.GetRootAs(content, 0)).subgraphs[0]
        names = [tensor.name.decode() for tensor in graph.tensors]
        floats = {
            index
            for index, tensor in enumerate(graph.tensors)
            if tensor.type == schema.TensorType.FLOAT32
        }
        self.operands: Mapping[str, tuple[str, ...]] = {
            names[operator.outputs[0]]: tuple(
                names[index] for index in operator.inputs if index in floats
            )
            for operator in graph.operators
        }

    def of(self, *numbers: int) -> list[str]:
        """Return the operators of layers by their numbers in `marked`, including operators fused with others."""
        scopes = [_scope(number) for number in numbers]

        def has_scope(name: str) -> bool:
            return any(scope in name for scope in scopes)

        own = set[str]()
        for name, operands in self.operands.items():
            weights = any(
                has_scope(operand) for operand in operands if operand not in self.operands
            )
            # Results of the model have other names: operators without weights, such as softmax, join the layer before.
            last = name.startswith("StatefulPartitionedCall") and own.issuperset(operands)
            if has_scope(name) or weights or (last and operands):
                own.add(name)
        return sorted(own)


class Calibrated:
    """Float flatbuffer with the ranges of its activations, as the converter makes it before it quantizes.

    Attributes:
        operators: the operators of the file.
    """

    def __init__(self, content: bytes) -> None:
        self._content = bytearray(content)
        self.operators = Operators(content)

    def clipped(
        self, percentile: float, histograms: Mapping[int, tuple[np.ndarray, np.ndarray]]
    ) -> Calibrated:
        """Return a copy whose ranges end at the percentiles 100 - p and p of the values for some examples.

        Args:
            percentile: percentile p, above 50 and at most 100.
            histograms: histograms of these values, as `histograms` returns them.
        """
        made = Calibrated(bytes(self._content))
        ranges = made._ranges()
        for index, histogram in histograms.items():
            low, high = ranges[index]
            low[0], high[0] = percentile_range(*histogram, percentile)
        return made

    def histograms(self, feeds: Iterable[Inputs]) -> dict[int, tuple[np.ndarray, np.ndarray]]:
        """Return the histogram of every tensor's values, by its index.

        Args:
            feeds: inputs of each run.
        """
        ranges = {
            index: (float(low[0]), float(high[0])) for index, (low, high) in self._ranges().items()
        }
        return histograms(self.network(observed=True), ranges, feeds)

    def network(self, *, observed: bool = False) -> Flatbuffer:
        """Return the float network."""
        return Flatbuffer(bytes(self._content), observed=observed)

    def _ranges(self) -> dict[int, tuple[np.ndarray, np.ndarray]]:
        """Return views of the ranges of all tensors that have one and are not constant."""
        graph = schema.Model.GetRootAs(self._content, 0).Subgraphs(0)
        ranges = {}
        for index in range(graph.TensorsLength()):
            quantization = graph.Tensors(index).Quantization()
            if quantization is not None and quantization.MinLength() == 1:
                low = quantization.MinAsNumpy()
                high = quantization.MaxAsNumpy()
                if low[0] < high[0]:
                    ranges[index] = low, high
        return ranges

    def quantized(
        self,
        float_operators: Iterable[str] = (),
        *,
        verified: bool = False,
        per_channel: bool = True,
        io: str = FLOAT,
    ) -> bytes:
        """Return the int8 flatbuffer.

        Args:
            float_operators: names of operators that stay in float.
            verified: whether to add the operators that `tf.lite.experimental.QuantizationDebugger` reads.
            per_channel: whether each channel of a kernel has a scale of its own.
            io: type of inputs and outputs.
        """
        return quantize_calibrated(
            bytes(self._content), float_operators, verified=verified, per_channel=per_channel, io=io
        )
