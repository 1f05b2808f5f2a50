"""Change relative to what was."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

__all__ = ["relative_change"]


def relative_change(before: ArrayLike, after: ArrayLike) -> np.ndarray:
    """`(after - before) / before`, the "norm" columns of [F] tables 3 and 8, which print it times 100.

    Args:
        before: floats of any shape, such as mean accuracies.
        after: floats of the same shape.

    Returns:
        Shares, float64: -0.1 is a tenth less. NaN where nothing was before.

    Example:
        >>> relative_change([42.23, 0.0], [25.29, 0.1]).round(4)
        array([-0.4011,     nan])
    """
    first, second = np.asarray(before, np.float64), np.asarray(after, np.float64)
    return np.divide(second - first, first, out=np.full(np.broadcast(first, second).shape, np.nan), where=first != 0)
