"""Placement of names beside points."""

import numpy as np
import pandas as pd

LETTER, LINE, GAP = (
    5.5,
    14,
    10,
)  # pixels: width of a letter, height of a line, distance from a point to its name
FILLED = 0.8  # approximate share of a panel that its points span; axes extend to round numbers


def name_sides(
    points: pd.DataFrame, x: str, y: str, name: str, *, width: int, height: int
) -> pd.Series:
    """Return the side of its point for each name, "right" or "left"; "" if it would cover an earlier name.

    A name extends towards the middle of the panel, or away from it if there is room only there.

    Args:
        points: the most important first.
        x: numeric column of the horizontal positions.
        y: numeric column of the vertical positions.
        name: column of the names; points with an empty name count for the scale only.
        width: pixels of the panel.
        height: likewise.

    Example:
        >>> points = pd.DataFrame({"x": [0, 0, 1, 1], "y": [0, 0, 0, 1], "name": ["first", "covers it", "a", "b"]})
        >>> name_sides(points, "x", "y", "name", width=300, height=200).tolist()
        ['right', '', 'left', 'left']
    """
    across, up = (
        pixels
        * (
            (1 - FILLED) / 2
            + FILLED * (points[axis] - points[axis].min()) / (np.ptp(points[axis]) or 1)
        )
        for axis, pixels in ((x, width), (y, height))
    )
    sides = []
    taken: list[tuple[float, float, float]] = []
    for position, row, text in zip(across, up, points[name].astype(str), strict=True):
        length = LETTER * len(text)
        boxes = {
            "right": (position + GAP, position + GAP + length),
            "left": (position - GAP - length, position - GAP),
        }
        inward, outward = ("left", "right") if position > width / 2 else ("right", "left")
        fits = boxes[outward][0] >= 0 and boxes[outward][1] <= width
        sides.append("")
        for side in ((inward, outward) if fits else (inward,)) if text else ():
            low, high = boxes[side]
            if not any(
                low < end and start < high and abs(row - other) < LINE
                for start, end, other in taken
            ):
                taken.append((low, high, row))
                sides[-1] = side
                break
    return pd.Series(sides, index=points.index, dtype=object)


MARK = 8  # pixels from the middle of a point to its rim

OFFSETS = (-12, 14, -26, 28, -40, 42, -54, 56)
"""Pixels from a point to the line of its name, upwards where negative, the preferred ones first."""


def name_places(
    points: pd.DataFrame, x: str, y: str, name: str, *, width: int, height: int
) -> pd.DataFrame:
    """Return a place for every name: `side` and `dy`, such that it covers no point or earlier name while there is room.

    Args:
        points: the most important first.
        x: numeric column of the horizontal positions.
        y: numeric column of the vertical positions.
        name: column of the names.
        width: pixels of the panel.
        height: likewise.

    Example:
        >>> points = pd.DataFrame({"x": [0, 0, 1], "y": [0, 0, 0], "name": ["first", "second", "a"]})
        >>> name_places(points, "x", "y", "name", width=300, height=200).to_dict("list")
        {'side': ['right', 'right', 'left'], 'dy': [-12, 14, -12]}
    """
    across, up = (
        pixels
        * (
            (1 - FILLED) / 2
            + FILLED * (points[axis] - points[axis].min()) / (np.ptp(points[axis]) or 1)
        )
        for axis, pixels in ((x, width), (y, height))
    )
    places: list[tuple[str, int]] = []
    taken = [
        (position - MARK, position + MARK, row) for position, row in zip(across, up, strict=True)
    ]
    for position, row, text in zip(across, up, points[name].astype(str), strict=True):
        length = LETTER * len(text)
        boxes = {
            "right": (position + GAP, position + GAP + length),
            "left": (position - GAP - length, position - GAP),
        }
        sides = ["left", "right"] if position > width / 2 else ["right", "left"]
        if not 0 <= boxes[sides[1]][0] <= boxes[sides[1]][1] <= width:
            sides.pop()
        free = (
            (side, dy)
            for dy in OFFSETS
            for side in sides
            if row - dy <= height
            and not any(
                boxes[side][0] < end and start < boxes[side][1] and abs(row - dy - other) < LINE
                for start, end, other in taken
            )
        )
        side, dy = next(free, (sides[0], OFFSETS[0]))
        taken.append((*boxes[side], row - dy))
        places.append((side, dy))
    return pd.DataFrame(places, columns=["side", "dy"], index=points.index)
