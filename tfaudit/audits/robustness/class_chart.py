"""Change of recall by class and corruption."""

import altair as alt
import pandas as pd

from tfaudit.audits.classes.chart import QUESTIONS
from tfaudit.audits.robustness.chart import WORDS
from tfaudit.charts.style import INK, PALE, Drawing, distinct_names, tooltips

SHOWN = 30  # classes at most in half a page
WIDEST = 300  # pixels of all cells of a row
FIGURES = {
    "change_pp": "+.2f",
    "change_low_pp": "+.2f",
    "change_high_pp": "+.2f",
    "relative_pp": "+.2f",
}


def class_corruption_chart(
    cells: pd.DataFrame, *, question: str = "change", reach: float | None = None, most: int = SHOWN
) -> Drawing:
    """Draw a heat map of the answers to one question about recall; a dot marks cells whose verdict is a claim.

    Verdicts are corrected after Holm over all cells, shown or not.

    Args:
        cells: `class_frame` of a `Robustness`.
        question: "change" or "relative", of `tfaudit.audits.classes.chart.QUESTIONS`.
        reach: change at the ends of the scale, percentage points; by default the largest.
        most: classes at most, those whose recall changes most under any corruption.
    """
    asked = QUESTIONS[question]
    change = f"{question}_pp"
    loss, gain, _ = asked.colours
    measured = cells.assign(value=cells[change], **{"class": distinct_class_names(cells)}).dropna(
        subset=["value"]
    )
    columns = ["class", "corruption", "value", *FIGURES, "verdict", "relative_verdict"]
    measured = measured[columns].assign(claimed=measured[asked.verdict].isin([loss, gain]))
    largest = (
        measured["value"]
        .abs()
        .groupby(measured["class"])
        .max()
        .sort_values(ascending=False, kind="stable")
    )
    shown = measured[measured["class"].isin(largest.index[:most])]
    order = list(shown.groupby("class")["value"].mean().sort_values(kind="stable").index)
    corruptions = list(dict.fromkeys(shown["corruption"]))
    reach = largest_change(cells, question) if reach is None else reach
    width = min(44, max(15, WIDEST // max(1, len(corruptions))))
    across = alt.Axis(labelAngle=-50, labelLimit=110, orient="bottom", labelExpr=WORDS)
    down = alt.Axis(labelLimit=100, labelPadding=6, labelOverlap=False)
    base = alt.Chart(shown, width=alt.Step(width), height=alt.Step(16)).encode(
        x=alt.X("corruption:N", sort=corruptions, title=None, axis=across),
        y=alt.Y("class:N", sort=order, title=None, axis=down),
        tooltip=[
            *tooltips("class", "corruption", **FIGURES),
            *tooltips("verdict", "relative_verdict"),
        ],
    )
    scale = alt.Scale(
        domain=[-reach, 0, reach],
        range=[asked.colours[loss], PALE, asked.colours[gain]],
        interpolate="rgb",
    )
    legend = alt.Legend(orient="top", gradientLength=180, titleLimit=260)
    colour = alt.Color("value:Q", title=asked.title, scale=scale, legend=legend)
    boxes = base.mark_rect().encode(color=colour)
    dots = base.transform_filter("datum.claimed").mark_circle(size=22, color=INK, opacity=1)
    chart = alt.layer(boxes, dots)
    some = f"the {most} classes of largest change, of {len(largest):,}"
    return chart.properties(title=some) if len(largest) > most else chart


def largest_change(cells: pd.DataFrame, question: str = "change") -> float:
    """Return the largest absolute change in percentage points; 1 if nothing changes.

    Args:
        cells: `class_frame` of a `Robustness`.
        question: as in `class_corruption_chart`.

    Example:
        >>> largest_change(pd.DataFrame({"change_pp": [-3.0, float("nan")]}))
        3.0
    """
    largest = float(cells[f"{question}_pp"].abs().max())
    return largest if largest > 0 else 1.0


def distinct_class_names(cells: pd.DataFrame) -> pd.Series:
    """Return the class of every cell under a distinct name: of a repeated one with its position.

    Args:
        cells: `class_frame` of a `Robustness`.

    Example:
        >>> cells = pd.DataFrame({"corruption": ["fog"] * 3, "class": ["crane", "dog", "crane"]})
        >>> distinct_class_names(cells).to_list()
        ['crane (0)', 'dog', 'crane (2)']
    """
    by_corruption = cells.groupby("corruption", sort=False)["class"]
    return by_corruption.transform(
        lambda classes: distinct_names(classes.reset_index(drop=True)).to_numpy()
    )
