"""Rounding of weights to few bits so that results on examples change least."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import numpy as np
from ai_edge_litert import schema_py_generated as schema

from tfaudit.compress.litert.flatbuffer import Flatbuffer
from tfaudit.compress.litert.operators import kind_of
from tfaudit.compress.model_inputs import Inputs

PATCHES = 128
"""Most positions of an image at which a convolution's inputs are taken, at random."""

MOST_INPUTS = 8192
"""Most inputs of a weighted sum for which their products fit into memory."""

RATIOS = np.linspace(0.5, 1, 26)
"""Ends of the range that are tried, as shares of the largest weight."""

DAMPING = 0.01
"""Share of the mean square of the inputs that is added to each square."""

BLOCK = 128
"""Weights of a channel whose errors reach the weights behind them at once."""


class RoundedWeights:
    """Weights of convolutions and fully connected operators of a float flatbuffer, rounded to a few bits.

    A weight is rounded up or down so that the sums that it is part of change least on examples, [GQ]: weight by weight,
    with the inputs of the largest squares first. Each output channel has a symmetric range whose end has the least
    squared error, weighted by the squares of the inputs.

    Args:
        content: the bytes of the float32 flatbuffer.
        feeds: inputs of each run.
        bits: bits of a weight.
    """

    def __init__(self, content: bytes, feeds: Iterable[Inputs], bits: int) -> None:
        self._content = content
        graph = schema.ModelT.InitFromObj(schema.Model.GetRootAs(content, 0))
        sums = {
            _name(graph, operator.outputs[0]): operator
            for operator in graph.subgraphs[0].operators
            if _is_weighted_sum(graph, operator)
        }
        self._kernels = {name: operator.inputs[1] for name, operator in sums.items()}
        self._rounded = {}
        for kernel, products in _products(content, sums.values(), feeds).items():
            weights = _floats(content, kernel)
            rows = weights.reshape(len(weights) // len(products), -1)
            self._rounded[kernel] = rounded_weights(rows, products, bits).ravel()

    def file(self, operators: Collection[str]) -> bytes:
        """Return the float32 flatbuffer in which some operators, by the names of their results, are rounded."""
        made = bytearray(self._content)
        for name in self._kernels.keys() & set(operators):
            kernel = self._kernels[name]
            _floats(made, kernel)[:] = self._rounded[kernel]
        return bytes(made)


def rounded_weights(weights: np.ndarray, products: np.ndarray, bits: int) -> np.ndarray:
    """Round weights so that weighted sums of inputs with these mean products change least.

    One weight of each channel has the largest integer, so that a range from the lowest to the highest weight gives the
    same scale again.

    Args:
        weights: float array `(channels, inputs)`.
        products: mean products of the inputs on examples, `(inputs, inputs)`.
        bits: bits of a weight.

    Returns:
        Whole multiples of a scale per channel, float32 `(channels, inputs)`.

    Example:
        >>> weights = np.array([[0.7, 0.26, -0.14]])
        >>> rounded_weights(weights, np.eye(3), 4).round(2)
        array([[ 0.69,  0.29, -0.1 ]], dtype=float32)
    """
    top = 2 ** (bits - 1) - 1
    squares = np.diag(products)
    scale = _scales(weights, squares, top)[:, 0]
    damped = products + np.eye(len(products)) * (DAMPING * squares.mean() or 1)
    order = np.argsort(-squares, kind="stable")
    upper = np.linalg.cholesky(np.linalg.inv(damped[np.ix_(order, order)])).T
    left = weights[:, order].astype(float)
    largest = np.abs(left).argmax(axis=1)
    ends = top * np.sign(left[np.arange(len(left)), largest])
    rounded = np.empty_like(left)
    for start in range(0, len(order), BLOCK):
        block = slice(start, start + BLOCK)
        errors = np.zeros_like(left[:, block])
        for column in range(start, min(start + BLOCK, len(order))):
            steps = np.clip(np.rint(left[:, column] / scale), -top, top)
            rounded[:, column] = scale * np.where(largest == column, ends, steps)
            error = (left[:, column] - rounded[:, column]) / upper[column, column]
            errors[:, column - start] = error
            left[:, column : block.stop] -= np.outer(error, upper[column, column : block.stop])
        left[:, block.stop :] -= errors @ upper[block, block.stop :]
    return rounded[:, np.argsort(order)].astype(np.float32)


def _scales(weights: np.ndarray, squares: np.ndarray, top: int) -> np.ndarray:
    """Return the scale of each channel `(channels, 1)` with the least squared error, weighted by inputs."""
    largest = np.abs(weights).max(axis=1, keepdims=True).clip(np.finfo(np.float32).tiny)
    scales = largest * RATIOS / top
    errors = [
        (squares * (weights - np.clip(np.rint(weights / scale), -top, top) * scale) ** 2).sum(1)
        for scale in np.split(scales, len(RATIOS), axis=1)
    ]
    return np.take_along_axis(scales, np.argmin(errors, axis=0)[:, None], axis=1)


def _products(
    content: bytes, sums: Iterable[Any], feeds: Iterable[Inputs]
) -> dict[int, np.ndarray]:
    """Return the mean products of the inputs of operators, by the index of the kernel."""
    network = Flatbuffer(content, observed=True)
    draws = np.random.default_rng(0)
    totals: dict[int, Any] = {}
    counts: dict[int, int] = {}
    operators = list(sums)
    kernels = {operator.inputs[1] for operator in operators}
    shapes = {kernel: network.tensor(kernel).shape for kernel in kernels}
    for images in feeds:
        network.run(images)
        for operator in operators:
            kernel = operator.inputs[1]
            inputs = network.tensor(operator.inputs[0])
            rows = _patches(inputs, shapes[kernel], operator.builtinOptions, draws)
            if rows.shape[1] <= MOST_INPUTS:
                totals[kernel] = totals.get(kernel, 0) + rows.T @ rows
                counts[kernel] = counts.get(kernel, 0) + len(rows)
    return {kernel: total.astype(float) / counts[kernel] for kernel, total in totals.items()}


def _patches(
    inputs: np.ndarray, kernel: tuple[int, ...], options: Any, draws: np.random.Generator
) -> np.ndarray:
    """Return the inputs of some weighted sums, `(sums, inputs)`."""
    if len(kernel) == 2:
        return inputs.reshape(-1, kernel[1])
    strides = np.array([options.strideH, options.strideW])
    gaps = np.array([options.dilationHFactor, options.dilationWFactor])
    windows = (np.array(kernel[1:3]) - 1) * gaps + 1
    if options.padding == schema.Padding.SAME:
        sides = np.array(inputs.shape[1:3])
        added = ((-(-sides // strides) - 1) * strides + windows - sides).clip(0)
        pairs = [(one // 2, one - one // 2) for one in added.tolist()]
        inputs = np.pad(inputs, ((0, 0), *pairs, (0, 0)))
    view = np.lib.stride_tricks.sliding_window_view(inputs, tuple(windows), (1, 2))
    view = view[:, :: strides[0], :: strides[1], :, :: gaps[0], :: gaps[1]]
    image, row, column = np.indices(view.shape[:3]).reshape(3, -1)
    some = draws.permutation(len(row))[: PATCHES * len(view)]
    return view[image[some], row[some], column[some]].transpose(0, 2, 3, 1).reshape(len(some), -1)


def _is_weighted_sum(graph: Any, operator: Any) -> bool:
    """Return whether an operator is a convolution or fully connected, with a constant float kernel."""
    kind = kind_of(graph.operatorCodes[operator.opcodeIndex])
    if kind not in ("CONV_2D", "FULLY_CONNECTED"):
        return False
    tensors = graph.subgraphs[0].tensors
    kernel, inputs = tensors[operator.inputs[1]], tensors[operator.inputs[0]]
    is_constant = graph.buffers[kernel.buffer].data is not None
    whole = kind == "FULLY_CONNECTED" or kernel.shape[3] == inputs.shape[3]  # no groups
    return is_constant and whole and kernel.type == schema.TensorType.FLOAT32


def _name(graph: Any, index: int) -> str:
    return str(graph.subgraphs[0].tensors[index].name.decode())


def _floats(content: bytes | bytearray, tensor: int) -> np.ndarray:
    """Return a view of the values of a constant."""
    model = schema.Model.GetRootAs(content, 0)
    return model.Buffers(model.Subgraphs(0).Tensors(tensor).Buffer()).DataAsNumpy().view(np.float32)
