"""Charts in which a reader selects classes: a range, or one."""

from typing import Any

import altair as alt
import pandas as pd

from tfaudit.audits.classes.chart import STEP, all_classes, class_tooltip, named_classes
from tfaudit.charts.style import AMBER, WIDTH, Drawing, row_axis

RANGE, CLASS = "range", "chosen"
"""Names of the charts' parameters."""

COLUMNS = 2  # of the legend, so that it fits a phone
HEIGHT = 280  # height of the overview with legend and title in pixels
LIST = 440  # pixels that the lines of few classes fill


def range_choice_chart(
    ranked: pd.DataFrame,
    order: str,
    chosen: tuple[float, float] | None = None,
    question: str = "change",
) -> Drawing:
    """Draw all classes side by side; dragging stores a range of ranks in the parameter `RANGE`.

    Args:
        ranked: rows that `ranked_classes` returns.
        order: what the classes are sorted by, for the title of the axis.
        chosen: initial range of ranks; none by default.
        question: one of `QUESTIONS`, "change" (the default) or "relative".
    """
    mark = alt.BrushConfig(fill=AMBER, fillOpacity=0.18, stroke=AMBER, strokeOpacity=0.8)
    initial: dict[str, Any] = {"value": {"x": chosen}} if chosen else {}
    brush = alt.selection_interval(name=RANGE, encodings=["x"], mark=mark, **initial)
    return (
        all_classes(ranked, order, columns=COLUMNS, question=question)
        .add_params(brush)
        .properties(height=HEIGHT)
    )


def class_choice_chart(
    ranked: pd.DataFrame, chosen: int | None = None, question: str = "change"
) -> Drawing:
    """Draw a line per class; a click on a line stores the `position` of its class in the parameter `CLASS`.

    Args:
        ranked: rows that `ranked_classes` returns.
        chosen: position of the highlighted class; none by default.
        question: one of `QUESTIONS`, "change" (the default) or "relative".
    """
    click = alt.selection_point(name=CLASS, fields=["position"], on="click", clear=False)
    colour = alt.when(alt.datum.position == (-1 if chosen is None else chosen)).then(
        alt.value(AMBER)
    )
    step = max(STEP, min(2 * STEP, LIST // len(ranked)))
    bars = alt.Chart(ranked, width=WIDTH, height=alt.Step(step)).mark_bar(
        opacity=0.22, cursor="pointer", height=step
    )
    lines = bars.encode(
        y=row_axis(ranked["name"], limit=130),
        x=alt.XValue(0),
        x2=alt.X2Value("width"),
        color=colour.otherwise(alt.value("transparent")),
        tooltip=class_tooltip(ranked, question),
    )
    return alt.layer(
        lines.add_params(click),
        named_classes(ranked, columns=COLUMNS, question=question, step=step),
    )
