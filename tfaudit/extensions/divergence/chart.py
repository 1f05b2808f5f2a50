"""Shifts of the probabilities by class."""

import pandas as pd

from tfaudit.charts.class_bars import class_bars
from tfaudit.charts.style import HUES, Drawing


def shifts_chart(table: pd.DataFrame) -> Drawing:
    """Draw the shift of each class with its interval, the largest first.

    Args:
        table: `table` of a `Divergence`.
    """
    rows = table.assign(low=table["shift_low"], high=table["shift_high"])
    formats = {"agreement": ".4f", "kl": ".2g", "shift": ".3g", "relative_p_holm": ".2g"}
    return class_bars(rows, "shift", "mean square root of the divergence", HUES[0], formats)
