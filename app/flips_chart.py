"""Which predictions of one model become which of another."""

import altair as alt
import pandas as pd

from tfaudit.audits.model_pair.chart import LOST, WON
from tfaudit.charts.style import GAIN, LOSS, SLATE, Drawing, categories, tooltips

MOST = 12
"""Maximum number of predictions in a row and in a column, those that change most often."""

KINDS = {"lost": LOST, "won": WON, "other wrong": "other wrong"}
"""Names of the kinds of flips in a frame of flips, for readers."""

SHORT = 3  # letters of a name that stands upright above its column
FAINTEST = 0.25


def flips_chart(flips: pd.DataFrame) -> Drawing:
    """Draw a confusion matrix of two models: a cell per pair of predictions that differ, with its number of images.

    The colour is that of the most frequent kind of flip in the cell; the more images, the stronger it is.

    Args:
        flips: `flips_frame` of a `PairComparison`, one row or more.
    """
    kinds = flips["kind"].map(KINDS)
    cells = pd.crosstab([flips["before"], flips["after"]], kinds).reindex(
        columns=[*KINDS.values()], fill_value=0
    )
    cells = cells.assign(kind=cells.idxmax(axis=1), images=cells.sum(axis=1)).reset_index()
    totals = [cells.groupby(side)["images"].sum().nlargest(MOST) for side in ("before", "after")]
    shown = cells[cells["before"].isin(totals[0].index) & cells["after"].isin(totals[1].index)]
    order = sorted({*shown["before"], *shown["after"]})
    angle = -50 if max(map(len, order)) > SHORT else 0
    down = alt.Axis(labelLimit=110, labelOverlap=False, labelFlush=False)
    across = alt.Axis(
        labelLimit=110, labelOverlap=False, labelFlush=False, labelAngle=angle, orient="top"
    )
    x = alt.X("after:N", sort=order, title="prediction after", axis=across)
    y = alt.Y("before:N", sort=order, title="prediction before", axis=down)
    tooltip = tooltips("before", "after", "images:Q", *(f"{kind}:Q" for kind in KINDS.values()))
    base = alt.Chart(shown, width=alt.Step(34), height=alt.Step(24)).encode(
        x=x, y=y, tooltip=tooltip
    )
    strength = alt.Opacity(
        "images:Q",
        scale=alt.Scale(domain=[0, int(shown["images"].max())], range=[FAINTEST, 1]),
        legend=None,
    )
    colour = categories("kind", [*KINDS.values()], [LOSS, GAIN, SLATE], symbolType="square")
    squares = base.mark_rect(cornerRadius=2).encode(color=colour, opacity=strength)
    numbers = base.mark_text(fontSize=11).encode(text=alt.Text("images:Q"))
    chart = alt.layer(squares, numbers)
    left_out = int(cells["images"].sum() - shown["images"].sum())
    return chart.properties(title=f"{left_out:,} examples in other pairs") if left_out else chart
