"""Which classes become brittle to which corruption."""

from __future__ import annotations

import altair as alt
import pandas as pd

from tfaudit.charts.style import GREEN, PLUM, Drawing

__all__ = ["class_corruption_chart", "largest_change", "told_apart"]

SHOWN = 30
"""Classes at most in half a page."""

WIDEST = 300  # pixels that the cells may take


def class_corruption_chart(
    cells: pd.DataFrame, alpha: float, *, change: str = "normalised_pp", reach: float | None = None, most: int = SHOWN
) -> Drawing:
    """Heat map of the change of recall, plum where a class falls behind; a dot marks significant cells.

    Significant is p <= alpha after Benjamini and Hochberg over all cells, also those that are not shown.

    Args:
        cells: `class_frame` of a `Robustness`.
        alpha: level of the tests.
        change: column of the change that was tested: "normalised_pp", or "difference_pp" of one model against one.
        reach: change at the ends of the scale, percentage points; the largest one by default.
        most: classes at most, those whose recall changes most under any corruption.
    """
    what = "normalised change of recall, points" if change == "normalised_pp" else "change of recall, points"
    known = cells.assign(value=cells[change], **{"class": told_apart(cells)}).dropna(subset=["value"])
    largest = known["value"].abs().groupby(known["class"]).max().sort_values(ascending=False, kind="stable")
    shown = known[known["class"].isin(largest.index[:most])]
    order = list(shown.groupby("class")["value"].mean().sort_values(kind="stable").index)
    corruptions = list(dict.fromkeys(shown["corruption"]))
    reach = largest_change(cells, change) if reach is None else reach
    base = alt.Chart(
        shown, width=alt.Step(min(44, max(15, WIDEST // max(1, len(corruptions))))), height=alt.Step(16)
    ).encode(
        x=alt.X(
            "corruption:N", sort=corruptions, title=None, axis=alt.Axis(labelAngle=-50, labelLimit=110, orient="bottom")
        ),
        y=alt.Y("class:N", sort=order, title=None, axis=alt.Axis(labelLimit=100, labelPadding=6, labelOverlap=False)),
        tooltip=[
            "class",
            "corruption",
            *(alt.Tooltip(f"{name}:Q", format="+.2f") for name in ("difference_pp", "normalised_pp")),
            alt.Tooltip("p:Q", format=".2g"),
            alt.Tooltip("p_bh:Q", format=".2g"),
        ],
    )
    boxes = base.mark_rect().encode(
        color=alt.Color(
            "value:Q",
            title=what,
            scale=alt.Scale(domain=[-reach, 0, reach], range=[PLUM, "#e8e8ea", GREEN], interpolate="rgb"),
            legend=alt.Legend(orient="top", gradientLength=180, titleLimit=260),
        )
    )
    dots = base.transform_filter(f"datum.p_bh <= {alpha}").mark_circle(size=22, color="#26282e", opacity=1)
    chart = alt.layer(boxes, dots)
    if len(largest) > most:
        return chart.properties(title=f"the {most} classes of the largest change, of {len(largest):,}")
    return chart


def largest_change(cells: pd.DataFrame, change: str = "normalised_pp") -> float:
    """Return the largest change that is drawn, in percentage points; 1 where nothing changes.

    Args:
        cells: `class_frame` of a `Robustness`.
        change: as in `class_corruption_chart`.

    Example:
        >>> largest_change(pd.DataFrame({"normalised_pp": [-3.0, float("nan")]}))
        3.0
    """
    largest = float(cells[change].abs().max())
    return largest if largest > 0 else 1.0


def told_apart(cells: pd.DataFrame) -> pd.Series:
    """The class of every cell by a name that no other class bears: one that occurs twice gets its position.

    Args:
        cells: `class_frame` of a `Robustness`.

    Example:
        >>> told_apart(pd.DataFrame({"corruption": ["fog"] * 3, "class": ["crane", "dog", "crane"]})).to_list()
        ['crane (0)', 'dog', 'crane (2)']
    """
    twice = cells.duplicated(["corruption", "class"], keep=False)
    position = cells.groupby("corruption", sort=False).cumcount().astype(str)
    return cells["class"].where(~twice, cells["class"] + " (" + position + ")")
