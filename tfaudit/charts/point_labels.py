"""Placement of names beside points."""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import pandas as pd

LETTER, LINE = 5.5, 14  # pixels: width of a letter, height of a line
GAP = 10  # pixels from a point to its name
MARK = 8  # pixels from the middle of a point to its rim
FILLED = 0.8  # approximate share of a panel that its points span; axes extend to round numbers

OFFSETS = (-12, 14, -26, 28, -40, 42, -54, 56, -68, 70, -82, 84)
"""Pixels from a point to the line of its name, upwards where negative, the preferred ones first."""

Span: TypeAlias = tuple[float, float, float]
"""Where something begins, ends and how high it stands, in pixels."""


def name_sides(
    points: pd.DataFrame, x: str, y: str, name: str, *, width: int, height: int
) -> pd.Series:
    """Return the side of its point where each name stands: "right", "left", or "" if it would cover an earlier name.

    A name extends towards the middle of the panel, or away from it if only that side has room.

    Args:
        points: one row per point, the most important first.
        x: numeric column of the horizontal positions.
        y: numeric column of the vertical positions.
        name: column of the names; points with an empty name count for the scale only.
        width: width of the panel in pixels.
        height: height of the panel in pixels.

    Example:
        >>> points = pd.DataFrame({"x": [0, 0, 1, 1], "y": [0, 0, 0, 1], "name": ["first", "covers it", "a", "b"]})
        >>> name_sides(points, "x", "y", "name", width=300, height=200).tolist()
        ['right', '', 'left', 'left']
    """
    sides = []
    taken: list[Span] = []
    for text, across, up in _in_pixels(points, x, y, name, width, height):
        spans = _spans(text, across, up, width, offsets=(0,)) if text else {}
        side, _ = _first_free(spans, taken, height) or ("", 0)
        sides.append(side)
        taken += [spans[side, 0]] if side else []
    return pd.Series(sides, index=points.index, dtype=object)


def name_places(
    points: pd.DataFrame, x: str, y: str, name: str, *, width: int, height: int
) -> pd.DataFrame:
    """Return `side` and `dy` for every name, so that it covers no point or earlier name; "" and 0 without a place.

    Args:
        points: one row per point, the most important first.
        x: numeric column of the horizontal positions.
        y: numeric column of the vertical positions.
        name: column of the names.
        width: width of the panel in pixels.
        height: height of the panel in pixels.

    Example:
        >>> points = pd.DataFrame({"x": [0, 0, 1], "y": [0, 0, 0], "name": ["first", "second", "a"]})
        >>> name_places(points, "x", "y", "name", width=300, height=200).to_dict("list")
        {'side': ['right', 'right', 'left'], 'dy': [-12, 14, -12]}
    """
    places = []
    named = _in_pixels(points, x, y, name, width, height)
    taken = [(across - MARK, across + MARK, up) for _, across, up in named]
    for text, across, up in named:
        spans = _spans(text, across, up, width, offsets=OFFSETS)
        place = _first_free(spans, taken, height)
        taken += [spans[place]] if place else []
        places.append(place or ("", 0))
    return pd.DataFrame(places, columns=["side", "dy"], index=points.index)


def _in_pixels(
    points: pd.DataFrame, x: str, y: str, name: str, width: int, height: int
) -> list[tuple[str, float, float]]:
    """Return the name of each point and how far it stands across and up, in pixels."""
    positions = _pixels(points[x], width), _pixels(points[y], height)
    return list(zip(points[name].astype(str), *positions, strict=True))


def _pixels(values: pd.Series, extent: int) -> pd.Series:
    share = (values - values.min()) / (np.ptp(values) or 1)
    return extent * ((1 - FILLED) / 2 + FILLED * share)


def _spans(
    text: str, across: float, up: float, width: int, *, offsets: Sequence[int]
) -> dict[tuple[str, int], Span]:
    """Return the span of a name at every side and offset, the preferred places first."""
    length = LETTER * len(text)
    right = "right", across + GAP
    left = "left", across - GAP - length
    inward, outward = (left, right) if across > width / 2 else (right, left)
    has_room = outward[1] >= 0 and outward[1] + length <= width
    return {
        (side, dy): (start, start + length, up - dy)
        for dy in offsets
        for side, start in ([inward, outward] if has_room else [inward])
    }


def _first_free(
    spans: dict[tuple[str, int], Span], taken: Sequence[Span], height: int
) -> tuple[str, int] | None:
    """Return the first place that lies in the panel and covers nothing."""
    for place, (low, high, row) in spans.items():
        covers = any(
            low < end and start < high and abs(row - other) < LINE for start, end, other in taken
        )
        if row <= height and not covers:
            return place
    return None
