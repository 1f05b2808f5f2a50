"""Changes of recall by class and variant."""

import altair as alt
import pandas as pd

from tfaudit.audits.classes.chart import QUESTIONS
from tfaudit.audits.robustness.class_chart import SHOWN, WIDEST
from tfaudit.charts.style import INK, PALE, Drawing, tooltips


def claims_chart(cells: pd.DataFrame) -> Drawing:
    """Draw a heat map of the changes of recall by class and variant; a dot where the verdict is a claim.

    Args:
        cells: of `Claims`.
    """
    asked = QUESTIONS["change"]
    loss, gain, _ = asked.colours
    known = cells.dropna(subset=["change_pp"]).assign(
        claimed=lambda rows: rows["verdict"].isin([loss, gain])
    )
    largest = (
        known["change_pp"]
        .abs()
        .groupby(known["class"])
        .max()
        .sort_values(ascending=False, kind="stable")
    )
    shown = known[known["class"].isin(largest.index[:SHOWN])]
    order = list(shown.groupby("class")["change_pp"].mean().sort_values(kind="stable").index)
    titles = list(dict.fromkeys(cells["title"]))
    reach = max(float(known["change_pp"].abs().max()), 1e-9) if len(known) else 1.0
    width = min(44, max(15, WIDEST // max(1, len(titles))))
    figures = tooltips(
        change_pp="+.2f", change_low_pp="+.2f", change_high_pp="+.2f", p_holm_all=".2g"
    )
    base = alt.Chart(shown, width=alt.Step(width), height=alt.Step(16)).encode(
        x=alt.X("title:N", sort=titles, title=None, axis=alt.Axis(labelAngle=-50, labelLimit=130)),
        y=alt.Y(
            "class:N", sort=order, title=None, axis=alt.Axis(labelLimit=100, labelOverlap=False)
        ),
        tooltip=[*tooltips("class", "title"), *figures, alt.Tooltip("verdict")],
    )
    ends = [asked.colours[loss], PALE, asked.colours[gain]]
    scale = alt.Scale(domain=[-reach, 0, reach], range=ends, interpolate="rgb")
    colour = alt.Color(
        "change_pp:Q",
        title=asked.title,
        scale=scale,
        legend=alt.Legend(orient="top", gradientLength=180, titleLimit=260),
    )
    dots = base.transform_filter("datum.claimed").mark_circle(size=22, color=INK, opacity=1)
    some = (
        f"the {SHOWN} classes of largest change, of {len(largest):,}"
        if len(largest) > SHOWN
        else ""
    )
    return alt.layer(base.mark_rect().encode(color=colour), dots).properties(title=some)
