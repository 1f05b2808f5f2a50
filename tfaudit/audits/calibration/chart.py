"""Reliability diagrams: accuracy over confidence."""

import altair as alt
import pandas as pd

from tfaudit.charts.style import GREY, WIDTH, Drawing, before_after, tooltips


def reliability_chart(curves: pd.DataFrame) -> Drawing:
    """Draw accuracy over confidence in bins of equal mass, before and after; overconfident below the dashed line.

    Args:
        curves: `curves` of a `Calibration`.
    """
    shares = ["confidence", "accuracy", "range_low", "range_high"]
    shown = curves.assign(**100 * curves[shares], quantity="confidence " + curves["when"] + ", %")
    low = max(0.0, min(shown["confidence"].min(), shown["accuracy"].min()) - 2)
    scale = alt.Scale(domain=[low, 101], nice=False)
    axis = alt.Axis(tickCount=5)
    x = alt.X("confidence:Q", title="confidence, %", scale=scale, axis=axis)
    y = alt.Y("accuracy:Q", title="accuracy, %", scale=scale, axis=axis)
    ends = alt.Chart(pd.DataFrame({"confidence": [low, 100], "accuracy": [low, 100]}))
    diagonal = ends.mark_line(color=GREY, strokeDash=[4, 4], strokeWidth=1).encode(x=x, y=y)
    colour = before_after("when")
    base = alt.Chart(shown, width=WIDTH - 60, height=WIDTH - 60)
    tooltip = tooltips("when", "predictions", confidence=".2f", accuracy=".2f")
    line = base.mark_line(strokeWidth=1.5, opacity=0.6).encode(x=x, y=y, color=colour)
    points = base.mark_circle(size=45, opacity=1).encode(x=x, y=y, color=colour, tooltip=tooltip)
    return alt.layer(diagonal, line, points)
