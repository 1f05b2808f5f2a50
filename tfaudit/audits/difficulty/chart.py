"""Accuracy on exemplars over all variants."""

import altair as alt
import pandas as pd

from tfaudit.audits.exemplars.chart import COLOURS, GROUPS
from tfaudit.charts.style import PIE_LABELS, WIDTH, Drawing, categories, row_axis, tooltips


def difficulty_levels_chart(difficulty: pd.DataFrame) -> Drawing:
    """Draw the uncompressed models' top-1 accuracy on PIEs, on other images and on all, a row per variant.

    Args:
        difficulty: `difficulty` of a `DifficultyLevels`.
    """
    shown = difficulty.query("population == 'baseline' and k == 1").dropna(subset=["accuracy"])
    figures = ["accuracy", "low", "high"]
    shown[figures] = 100 * shown[figures].clip(0, 1)
    base = alt.Chart(shown, width=WIDTH - 80, height=alt.Step(24)).encode(
        y=row_axis(difficulty["title"], limit=150),
        color=categories("group", GROUPS, COLOURS, labelExpr=PIE_LABELS, symbolOpacity=1),
    )
    x = alt.X("accuracy:Q", title="top-1 accuracy of uncompressed models, %").scale(zero=False)
    intervals = base.mark_rule(strokeWidth=2, opacity=0.5).encode(
        x=alt.X("low:Q"), x2=alt.X2("high:Q")
    )
    tooltip = tooltips("title", "group", "examples", accuracy=".2f", low=".2f", high=".2f")
    dots = base.mark_circle(size=60, opacity=1).encode(x=x, tooltip=tooltip)
    return alt.layer(intervals, dots)
