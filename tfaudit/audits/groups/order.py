"""The order in which groups are listed."""

import pandas as pd

from tfaudit.stats.group_codes import LEAST_IMAGES

ALL_NAMED = 30
"""Maximum number of groups that each have a line and a name in charts."""


def largest_losses_first(table: pd.DataFrame) -> pd.DataFrame:
    """Sort groups by their loss; if there are many, groups of fewer than 10 images, mostly chance, come last.

    Args:
        table: `table` of a `Groups`.

    Example:
        >>> table = pd.DataFrame({"group": range(31), "examples": [10] * 30 + [9], "change_pp": range(0, -31, -1)})
        >>> list(largest_losses_first(table)["group"])[:2], list(largest_losses_first(table)["group"])[-1]
        ([29, 28], 30)
    """
    few = (table["examples"] < LEAST_IMAGES) & (len(table) > ALL_NAMED)
    return (
        table.assign(few=few).sort_values(["few", "change_pp"], kind="stable").drop(columns="few")
    )
