"""Training images of every class."""

import altair as alt
import pandas as pd

from tfaudit.audits.classes.chart import recall_before
from tfaudit.charts.style import WIDTH, Drawing, tooltips

BARS = 200  # classes at most: those with the most images


def counts_chart(table: pd.DataFrame) -> Drawing:
    """Draw [P] figure 6: a bar of training images per class, coloured by its recall before compression.

    Args:
        table: `table` of a `ClassCounts`.
    """
    shown = table.assign(recall=100 * table["recall_before"]).sort_values(
        "train_examples", ascending=False
    )
    some = (
        f"the {BARS} classes with the most images, of {len(shown):,}" if len(shown) > BARS else ""
    )
    shown = shown.head(BARS)
    colour = recall_before("recall")
    axis = alt.Axis(labelAngle=-50, labelLimit=90)
    x = alt.X("class:N", sort=list(shown["class"]), title=None, axis=axis)
    tooltip = tooltips("class", "train_examples", recall=".2f")
    bars = alt.Chart(shown, width=WIDTH, height=180).mark_bar(stroke=None)
    y = alt.Y("train_examples:Q", title="training images", axis=alt.Axis(tickCount=5))
    return bars.encode(x=x, y=y, color=colour, tooltip=tooltip).properties(title=some)
