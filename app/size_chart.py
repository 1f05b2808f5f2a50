"""Chart of size against accuracy."""

from itertools import product
from typing import Literal

import altair as alt
import pandas as pd

from tfaudit.charts.point_labels import OFFSETS, name_places
from tfaudit.charts.style import GREY, PLUM, SLATE, WIDTH, Drawing, categories, tooltips

BASELINE, COMPRESSED = "baseline", "compressed"
HEIGHT = 300  # pixels of the chart of sizes

SIDES: tuple[tuple[str, Literal["left", "right"], int], ...] = (
    ("right", "left", 12),
    ("left", "right", -12),
)
"""Sides of a point for its name, with the alignment and offset of the text there."""

FAR = 20  # pixels up or down from which a line leads from a point to its name


def size_chart(table: pd.DataFrame) -> Drawing:
    """Draw size against accuracy: one point per variant, larger if more images change their modal label.

    Sizes are those of the gzipped files, which zeros make smaller; on disk if only those are known. Variants of unknown
    size are omitted.

    Args:
        table: table of a `Summary`, one row per variant.
    """
    zipped = bool(table["gzipped_bytes"].notna().any())
    sizes_in = "gzipped_bytes" if zipped else "bytes"
    sized = table.dropna(subset=[sizes_in])
    scale, unit = (1e6, "MB") if sized[sizes_in].max() >= 1e6 else (1e3, "kB")
    shown = pd.DataFrame(
        {
            "title": sized["title"],
            "what": [BASELINE if pd.isna(pies) else COMPRESSED for pies in sized["pies"]],
            "size": sized[sizes_in].astype(float) / scale,
            "top1": 100 * sized["top1"].astype(float),
            "changed": 100 * sized["pie_share"].astype(float).fillna(0),
        }
    )
    first = shown.sort_values(["what", "changed"], ascending=[True, False], kind="stable")
    shown = shown.join(name_places(first, "size", "top1", "title", width=WIDTH, height=HEIGHT))
    least, most = shown["size"].agg(["min", "max"])
    margin = (most - least or most) / 8
    # Vega's padding would extend below 0.
    sizes = alt.Scale(domain=[max(least - margin, 0.0), most + margin], nice=False)
    file = "gzipped model file" if zipped else "model file"
    x = alt.X("size:Q", title=f"size of the {file}, {unit}", scale=sizes)
    axis = alt.Axis(tickCount=6, format=".6~g")  # a single value would have six decimals
    y = alt.Y(
        "top1:Q", title="top-1 accuracy, %", scale=alt.Scale(zero=False, padding=20), axis=axis
    )
    base = alt.Chart(shown, width=WIDTH, height=HEIGHT).encode(x=x, y=y)
    areas = alt.Scale(range=[60, 900])
    points = base.mark_point(filled=True, opacity=0.75).encode(
        size=alt.Size("changed:Q", title="images changed, %", scale=areas, legend=None),
        color=categories("what", [BASELINE, COMPRESSED], [SLATE, PLUM]),
        tooltip=[
            alt.Tooltip("title:N"),
            alt.Tooltip("size:Q", format=",.1f", title=f"size, {unit}"),
            *tooltips(top1=".2f"),
            alt.Tooltip("changed:Q", format=".2f", title="images changed, %"),
        ],
    )
    names = []
    for (side, align, dx), dy in product(SIDES, OFFSETS):
        placed = shown[(shown["side"] == side) & (shown["dy"] == dy)]
        if len(placed):
            at = alt.Chart(placed).encode(x="size:Q", y="top1:Q")
            if abs(dy) > FAR:
                leader = at.mark_rule(color=GREY, x2Offset=dx, y2Offset=dy).encode(
                    x2="size:Q", y2="top1:Q"
                )
                names.append(leader)
            names.append(at.mark_text(align=align, dx=dx, dy=dy, limit=200).encode(text="title:N"))
    return alt.layer(points, *names)
