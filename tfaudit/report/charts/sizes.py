"""What a smaller file costs: accuracy, and the images that change."""

from __future__ import annotations

import altair as alt
import pandas as pd

from tfaudit.report.charts.style import GREY, PLUM, WIDTH, Drawing

__all__ = ["size_chart"]

BASELINE, COMPRESSED = "baseline", "compressed"


def size_chart(table: pd.DataFrame) -> Drawing:
    """Size against accuracy against harm: one point per variant, the larger the more images change their modal label.

    Sizes are those of the gzipped files, which are smaller for zeros. Variants of unknown size are left out.

    Args:
        table: of a `Summary`.
    """
    known = table.dropna(subset=["gzipped_bytes"])
    shown = pd.DataFrame(
        {
            "title": known["title"],
            "what": [BASELINE if pd.isna(pies) else COMPRESSED for pies in known["pies"]],
            "megabytes": known["gzipped_bytes"].astype(float) / 1e6,
            "top1": 100 * known["top1"].astype(float),
            "changed": 100 * known["pie_share"].astype(float).fillna(0),
        }
    )
    base = alt.Chart(shown, width=WIDTH, height=300).encode(
        x=alt.X("megabytes:Q", title="size of the gzipped model file, MB", scale=alt.Scale(zero=False, padding=30)),
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
    shown["side"] = _sides(shown)
    left, right = (
        alt.Chart(shown[shown["side"] == side]).encode(x="megabytes:Q", y="top1:Q", text="title:N")
        for side in ("left", "right")
    )
    return alt.layer(
        points,
        left.mark_text(align="left", dx=12, dy=-12, limit=200),
        right.mark_text(align="right", dx=-12, dy=-12, limit=200),
    )


def _sides(shown: pd.DataFrame) -> pd.Series:
    """To which side of its point each name is aligned; none where it would cover that of a point with more harm."""
    spans = [max(shown[name].max() - shown[name].min(), 1e-9) for name in ("megabytes", "top1")]
    x, y = (shown[name] / span for name, span in zip(("megabytes", "top1"), spans, strict=True))
    sides = pd.Series("", index=shown.index)
    for i in shown.sort_values(["what", "changed"], ascending=[True, False]).index:
        others = sides.ne("")
        if not (others & ((x - x[i]).abs() < 0.3) & ((y - y[i]).abs() < 0.07)).any():
            sides[i] = "right" if x[i] > (x.min() + x.max()) / 2 else "left"
    return sides
