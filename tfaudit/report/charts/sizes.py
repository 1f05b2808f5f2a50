"""What a smaller file costs: accuracy, and the images that change."""

from __future__ import annotations

import altair as alt
import pandas as pd

from tfaudit.report.charts.style import GREY, PLUM, WIDTH, Drawing

__all__ = ["size_chart"]

BASELINE, COMPRESSED = "baseline", "compressed"


def size_chart(table: pd.DataFrame) -> Drawing:
    """Size against accuracy against harm: one point per variant, the larger the more images change their modal label.

    Variants of unknown size are left out.

    Args:
        table: of a `Summary`.
    """
    known = table.dropna(subset=["bytes"])
    shown = pd.DataFrame(
        {
            "title": known["title"],
            "what": [BASELINE if pd.isna(pies) else COMPRESSED for pies in known["pies"]],
            "megabytes": known["bytes"].astype(float) / 1e6,
            "top1": 100 * known["top1"].astype(float),
            "changed": 100 * known["pie_share"].astype(float).fillna(0),
        }
    )
    base = alt.Chart(shown, width=WIDTH, height=260).encode(
        x=alt.X("megabytes:Q", title="size of the model file, MB", scale=alt.Scale(zero=False, padding=30)),
        y=alt.Y("top1:Q", title="top-1 accuracy, %", scale=alt.Scale(zero=False, padding=20)),
    )
    points = base.mark_point(filled=True, opacity=0.75).encode(
        size=alt.Size("changed:Q", title="images changed, %", scale=alt.Scale(range=[60, 900]), legend=None),
        color=alt.Color(
            "what:N",
            title=None,
            scale=alt.Scale(domain=[BASELINE, COMPRESSED], range=[GREY, PLUM]),
            legend=alt.Legend(orient="top"),
        ),
        tooltip=[
            "title:N",
            alt.Tooltip("megabytes:Q", format=".3g"),
            alt.Tooltip("top1:Q", format=".2f"),
            alt.Tooltip("changed:Q", format=".2f", title="images changed, %"),
        ],
    )
    right = "datum.megabytes > " + str((shown["megabytes"].min() + shown["megabytes"].max()) / 2)
    names = [
        base.transform_filter(chosen).mark_text(align=align, dx=dx, dy=-12, limit=200).encode(text="title:N")
        for chosen, align, dx in ((right, "right", -6), (f"!({right})", "left", 6))
    ]
    return alt.layer(points, *names)
