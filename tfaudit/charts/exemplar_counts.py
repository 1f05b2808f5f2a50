"""Number of exemplars of each variant, and the number expected by chance."""

from __future__ import annotations

import altair as alt
import pandas as pd

from tfaudit.charts.style import GREY, PLUM, WIDTH, Drawing, row_axis

__all__ = ["pie_count_chart"]


def pie_count_chart(counts: pd.DataFrame) -> Drawing:
    """Draw one line per variant: a dot at the number of PIEs, a grey band for the central 95 % by chance.

    Args:
        counts: rows of `title`, `pies`, and `low`, `expected`, `high` by chance, NaN where unknown.
    """
    y = row_axis(counts["title"], limit=150)
    x = alt.X("pies:Q", title="PIEs; grey: the central 95 % by chance", axis=alt.Axis(tickCount=5, tickMinStep=1))
    figures = [alt.Tooltip(f"{name}:Q", format=",.0f") for name in ("pies", "expected", "low", "high")]
    base = alt.Chart(counts, width=WIDTH, height=alt.Step(24)).encode(y=y, tooltip=["title", *figures])
    with_chance = base.transform_filter("isValid(datum.low)")
    band = with_chance.mark_bar(color=GREY, opacity=0.6, height=14).encode(x="low:Q", x2="high:Q")
    middle = with_chance.mark_tick(color=GREY, thickness=2, size=14).encode(x="expected:Q")
    observed = base.mark_circle(color=PLUM, size=70, opacity=1).encode(x=x)
    return alt.layer(band, middle, observed)
