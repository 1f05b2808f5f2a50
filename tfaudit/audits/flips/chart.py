"""Rates of negative flips by class."""

import pandas as pd

from tfaudit.charts.class_bars import class_bars
from tfaudit.charts.style import LOSS, Drawing

SHARES = ["negative_share", "negative_low", "negative_high", "retrained_share", "positive_share"]


def flips_chart(table: pd.DataFrame) -> Drawing:
    """Draw the share of images lost in each class with its interval, the highest first.

    Grey ticks are flips between two baseline models.

    Args:
        table: `table` of a `NegativeFlips`.
    """
    rows = table.assign(**100 * table[SHARES])
    rows = rows.assign(low=rows["negative_low"], high=rows["negative_high"])
    return class_bars(
        rows,
        "negative_share",
        "examples right before and wrong after, %",
        LOSS,
        {**dict.fromkeys(SHARES, ".2f"), "relative_p_holm": ".2g"},
        tick="retrained_share",
        legend="grey tick: trained again; dashed: all examples",
    )
