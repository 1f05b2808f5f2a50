"""Charts of margins, and of what looking at the smallest ones first finds."""

import altair as alt
import numpy as np
import pandas as pd

from tfaudit.charts.style import DASHES, GREY, HUES, WIDTH, Drawing, tooltips


def margins_chart(images: pd.DataFrame) -> Drawing:
    """Draw how many images have a margin of at most so much, on logarithmic scales.

    Args:
        images: `images` of a `Forecast`.
    """
    margin = images["margin"].to_numpy()
    levels = np.geomspace(1e-3, 1, 61)
    rows = pd.DataFrame({"margin": levels, "images": np.searchsorted(margin, levels, side="right")})
    base = alt.Chart(rows[rows["images"] > 0], width=WIDTH - 60, height=220)
    x = alt.X("margin:Q", title="margin before compression, at most").scale(type="log", nice=False)
    y = alt.Y("images:Q", title="examples").scale(type="log", nice=False)
    return base.mark_line(strokeWidth=2.5, color=HUES[0]).encode(
        x=x, y=y, tooltip=tooltips("images", margin=".3f")
    )


def found_chart(table: pd.DataFrame) -> Drawing:
    """Draw the share of changes found against the share of images looked at; the dashed line is a random order.

    Args:
        table: `table` of a `ForecastQuality`.
    """
    shares = ["looked_share", "found_share", "found_low", "found_high"]
    shown = table.assign(**100 * table[shares])
    base = alt.Chart(shown, width=WIDTH - 60, height=240)
    x = alt.X("looked_share:Q", title="examples looked at, smallest margins first, %")
    y = alt.Y("found_share:Q", title="changes found, %").scale(domain=(0, 100))
    band = base.mark_area(opacity=0.2, color=HUES[0]).encode(
        x=x, y=alt.Y("found_low:Q"), y2=alt.Y2("found_high:Q")
    )
    tooltip = tooltips(
        "looked", looked_share=".0f", found_share=".1f", found_low=".1f", found_high=".1f"
    )
    line = base.mark_line(strokeWidth=2.5, color=HUES[0], point=True).encode(
        x=x, y=y, tooltip=tooltip
    )
    ends = alt.Chart(pd.DataFrame({"looked_share": [0, 50], "found_share": [0, 50]}))
    any_order = ends.mark_line(color=GREY, strokeDash=DASHES).encode(x=x, y=y)
    return alt.layer(band, any_order, line)
