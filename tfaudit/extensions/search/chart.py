"""Candidates of a search for the smallest file: size against the change of the worst class."""

import altair as alt
import pandas as pd

from tfaudit.audits.gate.chart import outcome_encoding
from tfaudit.audits.gate.checks import OUTCOMES
from tfaudit.charts.style import GREY, WIDTH, Drawing, dashed_rule, tooltips

HEIGHT = 300  # pixels


def candidates_chart(table: pd.DataFrame, limit: float | None) -> Drawing:
    """Draw one point per candidate: its size and the change of its worst class, with the interval of the change.

    Colour and shape are the outcome of the gate, the dashed line its limit; the chosen candidate is named.

    Args:
        table: `title`, `outcome`, `chosen`, `bytes`, `top1`, `worst_class`, `worst_change_pp`, `worst_low_pp` and
            `worst_high_pp`; candidates without predictions are omitted.
        limit: limit on the drop of the worst class, percentage points; None for no line.
    """
    shown = table[table["outcome"].isin(OUTCOMES) & table["worst_change_pp"].notna()].copy()
    scale, unit = (1e6, "MB") if shown["bytes"].max() >= 1e6 else (1e3, "kB")
    shown["size"] = shown["bytes"].astype(float) / scale
    x = alt.X(
        "size:Q",
        title=f"size of the file, {unit}",
        scale=alt.Scale(type="log", nice=False, padding=20),
    )
    title = "change of the worst class's recall, points"
    y = alt.Y("worst_change_pp:Q", title=title, scale=alt.Scale(padding=12))
    base = alt.Chart(shown, width=WIDTH, height=HEIGHT)
    tooltip = [
        *tooltips("title:N", "outcome:N"),
        alt.Tooltip("size:Q", format=",.4g", title=f"size, {unit}"),
        *tooltips(top1=".4f"),
        *tooltips("worst_class:N", worst_change_pp="+.2f"),
    ]
    looks = outcome_encoding(shown)
    bars = base.mark_rule(opacity=0.5).encode(
        x=x, y=alt.Y("worst_low_pp:Q"), y2=alt.Y2("worst_high_pp:Q"), color=looks["color"]
    )
    points = base.mark_point(size=80, filled=True, opacity=0.9)
    points = points.encode(x=x, y=y, tooltip=tooltip, **looks)
    chosen = alt.Chart(shown[shown["chosen"]])
    ring = chosen.mark_point(
        size=260, filled=False, strokeWidth=1.5, color=GREY, shape="circle"
    ).encode(x=x, y=y)
    name = chosen.mark_text(dy=-16, limit=220).encode(x=x, y=y, text=alt.Text("title:N"))
    rules = [] if limit is None else [dashed_rule(base, y=alt.YDatum(-limit))]
    return alt.layer(*rules, bars, points, ring, name)
