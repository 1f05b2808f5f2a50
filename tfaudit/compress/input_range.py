"""Input ranges: whether examples are scaled like those that a network was calibrated with."""

import numpy as np

CLIPPED_SHARE = 0.5
"""An example is in another range if more than this share of its values lies outside the range."""

SLACK = 0.01
"""Share of a range by which values may exceed it."""

SAMPLED = 100
"""Number of examples, from all parts of the data, whose range is checked."""

SEVERAL, SLIVER = 8, 0.025
"""Values in at least this many examples are in another range if they span less than this share of a range."""


def outside(values: np.ndarray, low: float, high: float) -> np.ndarray:
    """Return which values lie outside a range that is widened by a slack on both sides.

    >>> outside(np.array([-1.0, 0.0, 1.005, 2.0]), 0.0, 1.0)
    array([ True, False, False,  True])
    """
    slack = SLACK * (high - low)
    return (values < low - slack) | (values > high + slack)


def is_in_other_range(values: np.ndarray, low: float, high: float) -> bool:
    """Return whether examples `(N, ...)` are scaled differently: half lie outside a range, or all in a sliver of it.

    Outliers in fewer examples, however large, do not count, nor do a few nearly constant examples.

    >>> pixels = np.linspace(0, 255, 80).reshape(8, 10)
    >>> is_in_other_range(pixels, 0, 1), is_in_other_range(pixels / 255, 0, 255), is_in_other_range(pixels, 0, 255)
    (True, True, False)
    """
    if not values.size:
        return False
    beyond = outside(values, low, high).reshape(len(values), -1).mean(axis=1)
    if np.median(beyond) > CLIPPED_SHARE:
        return True
    return len(values) >= SEVERAL and bool(0 < np.ptp(values) < SLIVER * (high - low))
