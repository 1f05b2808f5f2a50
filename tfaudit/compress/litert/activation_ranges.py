"""Ranges of the tensors of a float flatbuffer on examples: from the lowest to the highest value, or to percentiles."""

from collections.abc import Iterable, Mapping

import numpy as np
from ai_edge_litert import schema_py_generated as schema

from tfaudit.compress.litert.flatbuffer import Flatbuffer
from tfaudit.compress.litert.operators import main_operators
from tfaudit.compress.model_inputs import Inputs

BINS = 2048
"""Bins of a tensor's histogram, from which its percentiles are read."""

Ranges = Mapping[int, tuple[float, float]]
"""Lowest and highest value by the index of a tensor."""


def computed_floats(content: bytes) -> dict[int, str]:
    """Return the names of a file's float inputs and results of operators, by the index of the tensor."""
    graph = schema.Model.GetRootAs(content, 0).Subgraphs(0)
    indices = [graph.Inputs(place) for place in range(graph.InputsLength())]
    indices += [result for operator in main_operators(content) for result in operator.outputs]
    tensors = {index: graph.Tensors(index) for index in indices}
    return {
        index: tensor.Name().decode()
        for index, tensor in tensors.items()
        if tensor.Type() == schema.TensorType.FLOAT32
    }


def measured_ranges(network: Flatbuffer, tensors: Iterable[int], feeds: Iterable[Inputs]) -> Ranges:
    """Return the range of each tensor over some runs.

    Args:
        network: an observed network.
        tensors: indices of tensors.
        feeds: inputs of each run.
    """
    ranges = dict.fromkeys(tensors, (np.inf, -np.inf))
    for images in feeds:
        network.run(images)
        for index, (low, high) in ranges.items():
            values = network.tensor(index)
            ranges[index] = min(low, float(values.min())), max(high, float(values.max()))
    return ranges


def histograms(
    network: Flatbuffer, ranges: Ranges, feeds: Iterable[Inputs]
) -> dict[int, tuple[np.ndarray, np.ndarray]]:
    """Return the histogram of each tensor's values: counts in bins of equal width, and bin edges.

    Args:
        network: an observed network.
        ranges: ends of the first and the last bin.
        feeds: inputs of each run.
    """
    edges = {index: np.linspace(low, high, BINS + 1) for index, (low, high) in ranges.items()}
    counts = {index: np.zeros(BINS, np.int64) for index in edges}
    for images in feeds:
        network.run(images)
        for index, bins in edges.items():
            counts[index] += np.histogram(network.tensor(index), BINS, (bins[0], bins[-1]))[0]
    return {index: (counts[index], bins) for index, bins in edges.items()}


def percentile_range(
    counts: np.ndarray, edges: np.ndarray, percentile: float
) -> tuple[float, float]:
    """Return the percentiles 100 - p and p of the values in a histogram, p above 50 and at most 100.

    >>> percentile_range(np.full(BINS, 5), np.linspace(0, 2048, BINS + 1), 75)
    (512.0, 1536.0)
    """
    below = np.cumsum(counts) / max(counts.sum(), 1)
    first = int(np.searchsorted(below, 1 - percentile / 100, side="right"))
    last = min(int(np.searchsorted(below, percentile / 100)), BINS - 1)
    return float(edges[min(first, last)]), float(edges[last + 1])
