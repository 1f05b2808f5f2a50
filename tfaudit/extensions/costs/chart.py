"""Chart of latency and accuracy."""

import altair as alt
import pandas as pd

from tfaudit.charts.style import BLUE, WIDTH, Drawing, tooltips


def cost_chart(costs: pd.DataFrame) -> Drawing:
    """Draw a bar per variant: the median latency of one image with its quartiles; names include the accuracy.

    Args:
        costs: table with `title`, `accuracy` (a share), `latency_1_ms` and its quartiles `latency_1_q25_ms` and
            `latency_1_q75_ms`.
    """
    shown = costs.dropna(subset=["latency_1_ms"]).copy()
    shown["name"] = shown["title"] + ", " + (100 * shown["accuracy"]).map("{:.1f} %".format)
    y = alt.Y("name:N", sort=list(shown["name"]), title=None, axis=alt.Axis(labelLimit=170))
    base = alt.Chart(shown, width=WIDTH - 60, height=alt.Step(24))
    bars = base.mark_bar(color=BLUE, height=11, opacity=0.75).encode(
        x=alt.X(
            "latency_1_ms:Q",
            title="milliseconds per image, median and quartiles",
            axis=alt.Axis(tickCount=5),
        ),
        y=y,
        tooltip=tooltips("title", latency_1_ms=".3g", accuracy=".4f"),
    )
    spread = base.mark_rule(color=BLUE, strokeWidth=2).encode(
        x="latency_1_q25_ms:Q", x2="latency_1_q75_ms:Q", y=y
    )
    return alt.layer(bars, spread)
