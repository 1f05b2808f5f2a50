"""Size of the model file against accuracy and changed images."""

from __future__ import annotations

import altair as alt
import pandas as pd

from tfaudit.charts.point_labels import name_sides
from tfaudit.charts.style import GREY, PLUM, WIDTH, Drawing

__all__ = ["size_chart"]

BASELINE, COMPRESSED = "baseline", "compressed"
HEIGHT = 300


def size_chart(table: pd.DataFrame) -> Drawing:
    """Draw size against accuracy: one point per variant, the larger the more images change their modal label.

    Sizes are those of the gzipped files, which zeros make smaller. Variants of unknown size are omitted.

    Args:
        table: of a `Summary`.
    """
    sized = table.dropna(subset=["gzipped_bytes"])
    shown = pd.DataFrame(
        {
            "title": sized["title"],
            "what": [BASELINE if pd.isna(pies) else COMPRESSED for pies in sized["pies"]],
            "megabytes": sized["gzipped_bytes"].astype(float) / 1e6,
            "top1": 100 * sized["top1"].astype(float),
            "changed": 100 * sized["pie_share"].astype(float).fillna(0),
        }
    )
    first = shown.sort_values(["what", "changed"], ascending=[True, False], kind="stable")
    shown["side"] = name_sides(first, "megabytes", "top1", "title", width=WIDTH, height=HEIGHT)
    least, most = shown["megabytes"].min(), shown["megabytes"].max()
    margin = (most - least or most) / 8
    sizes = alt.Scale(
        domain=[max(least - margin, 0.0), most + margin], nice=False
    )  # Vega's padding would extend below 0
    base = alt.Chart(shown, width=WIDTH, height=HEIGHT).encode(
        x=alt.X("megabytes:Q", title="size of the gzipped model file, MB", scale=sizes),
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
    right, left = (
        alt.Chart(shown[shown["side"] == side]).encode(x="megabytes:Q", y="top1:Q", text="title:N")
        for side in ("right", "left")
    )
    return alt.layer(
        points,
        right.mark_text(align="left", dx=12, dy=-12, limit=200),
        left.mark_text(align="right", dx=-12, dy=-12, limit=200),
    )
