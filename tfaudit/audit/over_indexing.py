"""Which attributes exemplars have more often than other examples, as the columns of a table."""

from __future__ import annotations

import numpy as np

from tfaudit.stats.multiplicity import adjust
from tfaudit.stats.proportions import Proportions

__all__ = ["share_columns"]


def share_columns(found: Proportions) -> dict[str, np.ndarray]:
    """Shares of exemplars and of others, their difference in percentage points and its test, `(A,)` each: [F] 3.2.

    Args:
        found: the exemplars' proportions first, one entry per attribute.

    Returns:
        `share_pie` and `share_non_pie`; `ratio`; `difference_pp` with its interval `low_pp` to `high_pp`; `test`, `p`
        and `p_holm`, over all attributes.

    Example:
        >>> from tfaudit.stats.proportions import compare_proportions
        >>> columns = share_columns(compare_proportions([30, 2], [100, 10], [15, 1], [100, 10]))
        >>> columns["difference_pp"].round(), columns["p_holm"].round(3)
        (array([15., 10.]), array([0.022, 1.   ]))
    """
    return {
        "share_pie": found.first,
        "share_non_pie": found.second,
        "ratio": found.ratio,
        "difference_pp": 100 * (found.first - found.second),
        "low_pp": 100 * found.low,
        "high_pp": 100 * found.high,
        "test": found.test,
        "p": found.p,
        "p_holm": adjust(found.p, "holm"),
    }
