"""The order in which groups are listed."""

import pandas as pd

from tfaudit.stats.two_way import LEAST_IMAGES

ALL_NAMED = 30
"""Groups at most of which each has a line and a name in charts."""


def largest_losses_first(table: pd.DataFrame) -> pd.DataFrame:
    """Return the groups by their loss; of many groups those of fewer than 10 images, mostly chance, come last.

    Args:
        table: of a `Groups`.

    Example:
        >>> table = pd.DataFrame({"group": range(31), "examples": [10] * 30 + [9], "change_pp": range(0, -31, -1)})
        >>> list(largest_losses_first(table)["group"])[:2], list(largest_losses_first(table)["group"])[-1]
        ([29, 28], 30)
    """
    few = (table["examples"] < LEAST_IMAGES) & (len(table) > ALL_NAMED)
    return (
        table.assign(few=few).sort_values(["few", "change_pp"], kind="stable").drop(columns="few")
    )
