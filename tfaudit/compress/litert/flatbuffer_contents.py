"""Weights and operations of a flatbuffer, read with its schema and from one run, which shows the shapes."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from ai_edge_litert import schema_py_generated as schema

from tfaudit.compress.litert.flatbuffer import Flatbuffer, feed, without_delegates
from tfaudit.compress.litert.operators import kind_of
from tfaudit.compress.operations import Operation, Operations
from tfaudit.errors import InputError, one_line


@dataclass(frozen=True)
class FlatbufferContents:
    """Weights and operations of a flatbuffer.

    Attributes:
        parameters: number of weights: floats, and integers with a scale. BatchNorm is folded into them.
        prunable: number of weights in the kernels of convolutions and fully connected layers.
        zeros: number of zeros among the prunable weights, including those that quantization rounded to zero.
        sparse: names of the kernels that are stored without their zeros.
        operations: operations for one image.
        notes: parts that could not be read, one sentence each.
    """

    parameters: int
    prunable: int
    zeros: int
    sparse: tuple[str, ...]
    operations: Operations
    notes: tuple[str, ...]


def read_flatbuffer(content: bytes) -> FlatbufferContents:
    """Read the weights of a flatbuffer, and its operations for one image; an open side counts as 64 pixels.

    Raise an `InputError` if LiteRT cannot run it.

    >>> import keras
    >>> from tfaudit.compress.litert.quantize import quantize
    >>> model = keras.Sequential([keras.Input((4, 4, 1)), keras.layers.Flatten(), keras.layers.Dense(3)])
    >>> contents = read_flatbuffer(quantize(model, "float16"))
    >>> contents.prunable, contents.operations.flops
    (48, 96)
    """
    runnable = Flatbuffer(content)
    batch = runnable.batch or 1
    model = schema.ModelT.InitFromObj(schema.Model.GetRootAs(content, 0))
    try:
        shapes = _shapes(content, runnable, batch)
    except (RuntimeError, ValueError) as error:  # LiteRT checks more without delegates
        got = f"a flatbuffer that LiteRT cannot run without delegates ({one_line(error)})"
        raise InputError("model", got, "one that runs") from None
    graph = _Graph(model, content, shapes)
    stored = {
        tensor.buffer: tensor
        for part in model.subgraphs
        for tensor in part.tensors
        if graph.is_weight(tensor)
    }
    kernels = {}
    counted = []
    uncounted = []
    for operator in graph.operators:
        kind = graph.kind(operator)
        results = [_name(graph.tensors[index]) for index in operator.outputs[:1]]
        if kind in _OPAQUE:
            uncounted.append(" ".join([kind, *results]))
        if kind not in _FACTORS:
            continue
        operands = [graph.shape(index) for index in operator.inputs]
        # a transposed convolution multiplies every value of its input with the rest
        values = operands[2] if "TRANSPOSE" in kind else graph.shape(operator.outputs[0])
        macs = math.prod([*values, *_FACTORS[kind](operands, operator)]) // batch
        kernel = next(filter(None, map(graph.constant, operator.inputs[:2])), None)
        if kernel is None:
            counted.append(Operation(results[0], macs, macs))
        else:
            kernels[kernel.buffer] = kernel
            effective = round(macs * (graph.nonzero(kernel) / _size(kernel)))
            counted.append(Operation(_name(kernel), macs, effective))
    prunable = sum(map(_size, kernels.values()))
    read = {*_TYPES, schema.TensorType.INT4}
    unread = sorted({_name(kernel) for kernel in kernels.values() if kernel.type not in read})
    return FlatbufferContents(
        parameters=sum(map(_size, stored.values())),
        prunable=prunable,
        zeros=prunable - sum(map(graph.nonzero, kernels.values())),
        sparse=tuple(_name(kernel) for kernel in kernels.values() if kernel.sparsity is not None),
        operations=Operations(tuple(counted), tuple(uncounted)),
        notes=(f"zeros are not counted in {', '.join(unread)}: packed integers",) if unread else (),
    )


def table_rows(content: bytes) -> int:
    """Return the least number of rows in the tables that a flatbuffer looks up; 256 if there are none.

    Every table of embeddings has the tokens below this number.
    """
    model = schema.ModelT.InitFromObj(schema.Model.GetRootAs(content, 0))
    graph = _Graph(model, content)
    positions = {"GATHER": 0, "EMBEDDING_LOOKUP": 1}  # position of the table among the operands
    tables = [
        graph.constant(operator.inputs[positions[graph.kind(operator)]])
        for operator in graph.operators
        if graph.kind(operator) in positions
    ]
    shapes = [table.shape for table in tables if table is not None and table.shape is not None]
    return min((int(shape[0]) for shape in shapes if len(shape) == 2), default=256)


def weight_types(content: bytes) -> dict[str, tuple[str, int]]:
    """Return the type of the weights of each operator that has some, and their number, by the name of its result.

    Biases and constants of one dimension do not count; of several constants, the largest says the type.
    """
    graph = _Graph(schema.ModelT.InitFromObj(schema.Model.GetRootAs(content, 0)), content)
    names = {code: name.lower() for name, code in vars(schema.TensorType).items()}
    types = {}
    for operator in graph.operators:
        constants = [graph.constant(index) for index in operator.inputs]
        kernels = [one for one in constants if one is not None and np.sum(one.shape > 1) > 1]
        if kernels and graph.kind(operator) not in ("DEQUANTIZE", "DENSIFY"):
            largest = max(kernels, key=_size)
            result = graph.tensors[operator.outputs[0]].name.decode()
            types[result] = names[largest.type], _size(largest)
    return types


class _Graph:
    """Main subgraph of a flatbuffer, with the operator that makes each tensor."""

    def __init__(
        self, model: Any, content: bytes, shapes: Mapping[int, list[int]] = MappingProxyType({})
    ) -> None:
        self._model, self._content, self._shapes = model, content, shapes
        self.tensors, self.operators = model.subgraphs[0].tensors, model.subgraphs[0].operators
        self._makers = {
            output: operator for operator in self.operators for output in operator.outputs
        }

    def kind(self, operator: Any) -> str:
        return kind_of(self._model.operatorCodes[operator.opcodeIndex])

    def shape(self, index: int) -> list[int]:
        return self._shapes.get(index, [])  # -1 stands for a missing operand, such as a bias

    def is_weight(self, tensor: Any) -> bool:
        scaled = tensor.quantization is not None and tensor.quantization.scale is not None
        floating = tensor.type in _TYPES and _TYPES[tensor.type].kind == "f"
        return len(self._data(tensor)) > 0 and (
            floating or (scaled and len(tensor.quantization.scale) > 0)
        )

    def constant(self, index: int) -> Any:
        """Return the stored tensor of weights behind a tensor, or None."""
        while index in self._makers and self.kind(self._makers[index]) in ("DEQUANTIZE", "DENSIFY"):
            index = self._makers[index].inputs[0]
        return self.tensors[index] if index >= 0 and self.is_weight(self.tensors[index]) else None

    def nonzero(self, tensor: Any) -> int:
        if tensor.type == schema.TensorType.INT4:  # two in a byte, the first one in the lower bits
            pairs = self._data(tensor)
            return int(
                np.count_nonzero(np.stack([pairs & 15, pairs >> 4], 1).ravel()[: _size(tensor)])
            )
        if tensor.type not in _TYPES:
            return _size(tensor)
        points = None if tensor.quantization is None else tensor.quantization.zeroPoint
        # By specification, zero points per channel are all 0.
        zero = 0 if points is None or not len(points) else points[0]
        return int(np.count_nonzero(self._data(tensor).view(_TYPES[tensor.type]) != zero))

    def _data(self, tensor: Any) -> np.ndarray:
        """Return the bytes of a constant, which lie in its buffer or behind all buffers; none of another tensor."""
        buffer = self._model.buffers[tensor.buffer]
        if buffer.offset > 1:  # 0 and 1 are no places, by the schema
            return np.asarray(memoryview(self._content)[buffer.offset :][: buffer.size])
        return np.asarray([] if buffer.data is None else buffer.data, np.uint8)


def _shapes(content: bytes, runnable: Flatbuffer, batch: int) -> dict[int, list[int]]:
    """Return the shapes of all tensors in a run, since the file lacks shapes for an open batch."""
    interpreter = without_delegates(content)
    types = {detail["index"]: detail["dtype"] for detail in interpreter.get_input_details()}
    inputs = {
        index: np.zeros((batch, *source.example_shape), types[index])
        for index, source in runnable.sources()
    }
    feed(interpreter, inputs)
    return {
        tensor["index"]: tensor["shape"].tolist() for tensor in interpreter.get_tensor_details()
    }


def _name(tensor: Any) -> str:
    return tensor.name.decode().partition(";")[0]  # a fused tensor lists the names of all its parts


def _size(tensor: Any) -> int:
    return 1 if tensor.shape is None else math.prod(map(int, tensor.shape))


_FACTORS: dict[str, Callable[[list[list[int]], Any], list[int]]] = {
    # kernel: (filters, height, width, channels of a group)
    "CONV_2D": lambda operands, _: operands[1][1:],
    # kernel: (1, height, width, channels of the result)
    "DEPTHWISE_CONV_2D": lambda operands, _: operands[1][1:3],
    # kernel: (depth, height, width, channels, filters)
    "CONV_3D": lambda operands, _: operands[1][:-1],
    # kernel: channels last
    "TRANSPOSE_CONV": lambda operands, _: operands[1][:-1],
    "CONV_3D_TRANSPOSE": lambda operands, _: operands[1][:-1],
    "FULLY_CONNECTED": lambda operands, _: operands[1][-1:],
    "BATCH_MATMUL": lambda operands, op: [operands[0][-2 if op.builtinOptions.adjX else -1]],
}
"""Sides whose product is the number of multiplications of each value, given the shapes of the operands."""
_OPAQUE = {
    "CUSTOM",
    "CALL",
    "IF",
    "WHILE",
    "STABLEHLO_COMPOSITE",
    "STABLEHLO_CONVOLUTION",
    "STABLEHLO_DOT_GENERAL",
    "LSTM",
    "UNIDIRECTIONAL_SEQUENCE_LSTM",
    "BIDIRECTIONAL_SEQUENCE_LSTM",
    "SVDF",
    "RNN",
    "UNIDIRECTIONAL_SEQUENCE_RNN",
    "BIDIRECTIONAL_SEQUENCE_RNN",
}
"""Operators whose number of multiplications is known only when they run."""
_TYPES = {
    getattr(schema.TensorType, dtype.upper()): np.dtype(dtype)
    for dtype in ("float32", "float16", "float64", "int8", "uint8", "int16")
}
