"""Heat maps of changes by class and by variant or corruption."""

from collections.abc import Mapping

import altair as alt
import pandas as pd

from tfaudit.audits.classes.chart import QUESTIONS, ClassQuestion
from tfaudit.charts.style import INK, PALE, Drawing, tooltips

SHOWN = 30  # maximum number of classes in half a page
WIDEST = 300  # width of all cells of a row in pixels


def class_heat_map(
    cells: pd.DataFrame,
    across: alt.X,
    tooltip: list[alt.Tooltip],
    question: ClassQuestion,
    *,
    value: str,
    reach: float,
    most: int = SHOWN,
) -> Drawing:
    """Draw a heat map of changes by class, the lowest mean at the top; a dot marks verdicts that are claims.

    Args:
        cells: `class`, distinct; the changes; the verdict of the question; and the column of `across`.
        across: the other axis, sorted by a list of its values.
        tooltip: tooltip of a cell.
        question: the question that the changes answer.
        value: column of the changes.
        reach: change at the ends of the scale, percentage points.
        most: maximum number of classes, those with the largest change.
    """
    loss, gain, _ = question.colours
    known = cells.dropna(subset=[value]).assign(
        claimed=lambda rows: rows[question.verdict].isin([loss, gain])
    )
    largest = known[value].abs().groupby(known["class"]).max()
    largest = largest.sort_values(ascending=False, kind="stable")
    shown = known[known["class"].isin(largest.index[:most])]
    order = list(shown.groupby("class")[value].mean().sort_values(kind="stable").index)
    width = min(44, max(15, WIDEST // max(1, len(across["sort"]))))
    down = alt.Axis(labelLimit=100, labelPadding=6, labelOverlap=False)
    base = alt.Chart(shown, width=alt.Step(width), height=alt.Step(16)).encode(
        x=across, y=alt.Y("class:N", sort=order, title=None, axis=down), tooltip=tooltip
    )
    scale = alt.Scale(
        domain=[-reach, 0, reach],
        range=[question.colours[loss], PALE, question.colours[gain]],
        interpolate="rgb",
    )
    legend = alt.Legend(orient="top", gradientLength=180, titleLimit=260)
    colour = alt.Color(f"{value}:Q", title=question.title, scale=scale, legend=legend)
    dots = base.transform_filter("datum.claimed").mark_circle(size=22, color=INK, opacity=1)
    chart = alt.layer(base.mark_rect().encode(color=colour), dots)
    some = f"the {most} classes with the largest change, of {len(largest):,}"
    return chart.properties(title=some) if len(largest) > most else chart


def variants_heat_map(frames: Mapping[str, pd.DataFrame]) -> Drawing:
    """Draw the changes of recall by class and variant; a dot marks a verdict that is a claim.

    Args:
        frames: the frame of a `ClassImpact` for each variant, by title.
    """
    cells = pd.concat([frame.assign(title=title) for title, frame in frames.items()])
    cells = cells.reset_index(drop=True)
    axis = alt.Axis(labelAngle=-50, labelLimit=130)
    points = dict.fromkeys(("change_pp", "change_low_pp", "change_high_pp"), "+.2f")
    shown = ["class", "title", *points, "verdict"]
    return class_heat_map(
        cells[shown],
        alt.X("title:N", sort=list(frames), title=None, axis=axis),
        [*tooltips("class", "title", **points), *tooltips("verdict")],
        QUESTIONS["change"],
        value="change_pp",
        reach=cells["change_pp"].abs().max() or 1.0,
    )
