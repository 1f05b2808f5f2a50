"""The range of the values of inputs: whether examples are scaled as those that a network was calibrated with."""

import numpy as np

CLIPPED_SHARE = 0.5
"""Share of an example's values outside a range above which it is in another range."""

SLACK = 0.01
"""Part of a range by which values may lie beyond it."""

SEVERAL, SLIVER = 8, 0.025
"""From this number of examples on, values that span less than this share of a range are in another range."""


def outside(values: np.ndarray, low: float, high: float) -> np.ndarray:
    """Return which values lie outside a range and its slack.

    >>> outside(np.array([-1.0, 0.0, 1.005, 2.0]), 0.0, 1.0)
    array([ True, False, False,  True])
    """
    slack = SLACK * (high - low)
    return (values < low - slack) | (values > high + slack)


def is_in_other_range(values: np.ndarray, low: float, high: float) -> bool:
    """Return whether examples `(N, ...)` are scaled differently: half of them lie outside a range, or all in a sliver.

    Fewer examples with outliers, however large, are not; nor are a few that are all but constant.

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
