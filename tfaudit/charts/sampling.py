"""Seeded samples of points for charts that would have too many."""

import pandas as pd

MOST_POINTS = 4500
"""Points of a chart at most: Altair accepts 5,000 rows, and lines are rows as well."""


def sampled(points: pd.DataFrame, name: str = "points are drawn") -> tuple[pd.DataFrame, str]:
    """Return at most `MOST_POINTS` rows, and words on how many they are, which are empty if all rows are returned.

    Example:
        >>> drawn, words = sampled(pd.DataFrame({"x": range(6000)}))
        >>> len(drawn), words
        (4500, '4,500 of 6,000 points are drawn')
        >>> sampled(drawn)[1]
        ''
    """
    if len(points) <= MOST_POINTS:
        return points, ""
    return points.sample(MOST_POINTS, random_state=0), f"{MOST_POINTS:,} of {len(points):,} {name}"
