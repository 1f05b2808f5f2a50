"""Names beside points: which of them there is room for, and on which side of their point they stand."""

from __future__ import annotations

import pandas as pd

__all__ = ["name_sides"]

LETTER, LINE, GAP = 5.5, 14, 10
"""Pixels: width of a letter and height of a line of the text, from a point to its name."""

FILLED = 0.8
"""Share of a panel that its points span, about: axes go on to round numbers."""


def name_sides(points: pd.DataFrame, x: str, y: str, name: str, *, width: int, height: int) -> pd.Series:
    """On which side of its point each name stands, "right" or "left"; "" where it would cover an earlier one.

    A name turns to the middle of the panel, or away from it where only there is room. A wider panel has room for all
    that a narrow one has.

    Args:
        points: the most important first.
        x: column of the horizontal places, numbers.
        y: column of the vertical places, numbers.
        name: column of the names; points whose name is empty have none and count for the scale.
        width: pixels of the panel.
        height: likewise.

    Example:
        >>> points = pd.DataFrame({"x": [0, 0, 1, 1], "y": [0, 0, 0, 1], "name": ["first", "covers it", "a", "b"]})
        >>> name_sides(points, "x", "y", "name", width=300, height=200).tolist()
        ['right', '', 'left', 'left']
    """
    across, up = (
        pixels * ((1 - FILLED) / 2 + FILLED * (points[axis] - points[axis].min()) / (_span(points[axis]) or 1))
        for axis, pixels in ((x, width), (y, height))
    )
    sides = []
    taken: list[tuple[float, float, float]] = []
    for place, row, text in zip(across, up, points[name].astype(str), strict=True):
        if not text:
            sides.append("")
            continue
        length = LETTER * len(text)
        boxes = {"right": (place + GAP, place + GAP + length), "left": (place - GAP - length, place - GAP)}
        inward, outward = ("left", "right") if place > width / 2 else ("right", "left")
        fits = boxes[outward][0] >= 0 and boxes[outward][1] <= width
        for side in (inward, outward) if fits else (inward,):
            low, high = boxes[side]
            if not any(low < end and start < high and abs(row - other) < LINE for start, end, other in taken):
                taken.append((low, high, row))
                sides.append(side)
                break
        else:
            sides.append("")
    return pd.Series(sides, index=points.index, dtype=object)


def _span(places: pd.Series) -> float:
    return float(places.max() - places.min())
