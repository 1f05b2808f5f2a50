"""Reliability diagrams: accuracy over confidence."""

import altair as alt
import pandas as pd

from tfaudit.charts.style import WIDTH, Drawing, before_after, square_axes, tooltips


def reliability_chart(curves: pd.DataFrame) -> Drawing:
    """Draw accuracy over confidence in bins of equal mass, before and after; overconfident below the dashed line.

    Args:
        curves: `curves` of a `Calibration`.
    """
    shares = ["confidence", "accuracy", "range_low", "range_high"]
    shown = curves.assign(**100 * curves[shares], quantity="confidence " + curves["when"] + ", %")
    x, y, equal = square_axes(
        shown,
        alt.X("confidence:Q", title="confidence, %"),
        alt.Y("accuracy:Q", title="accuracy, %"),
    )
    colour = before_after("when")
    base = alt.Chart(shown, width=WIDTH - 60, height=WIDTH - 60)
    tooltip = tooltips("when", "predictions", confidence=".2f", accuracy=".2f")
    line = base.mark_line(strokeWidth=1.5, opacity=0.6).encode(x=x, y=y, color=colour)
    points = base.mark_circle(size=45, opacity=1).encode(x=x, y=y, color=colour, tooltip=tooltip)
    return alt.layer(equal, line, points)
