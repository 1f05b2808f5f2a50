"""What a gate measured, against its limits."""

from __future__ import annotations

import math

import altair as alt
import numpy as np
import pandas as pd

from tfaudit.charts.style import AMBER, GREEN, GREY, PLUM, WIDTH, Drawing

__all__ = ["figure", "gate_chart", "title"]

OUTCOMES, COLOURS, SHAPES = ["fail", "cannot judge", "pass"], [PLUM, AMBER, GREEN], ["cross", "diamond", "circle"]


def gate_chart(frame: pd.DataFrame) -> Drawing:
    """One line per check, each with its own scale from none to beyond the limit, which stands in the middle.

    A line is drawn in units of its limit: 0 is none (for intensification a slope of 1), 1 the limit. The bar is
    the interval; what lies beyond two limits, or below minus one, is cut off there.

    Args:
        frame: of a `Verdict`.
    """
    shown = frame.copy()
    origin = np.where(shown["check"] == "intensification", 1.0, 0.0)
    room = shown["limit"].to_numpy() - origin
    for column in ("value", "low", "high"):
        gap = shown[column].to_numpy(float) - origin
        # A limit of no change at all has no unit: whatever is above it is far beyond.
        scaled = np.divide(gap, room, out=np.sign(gap) * 2, where=room > 0)
        shown[f"{column}_share"] = np.clip(scaled, -1, 2)
    shown["title"] = [
        f"{title(check)}\n{figure(check, value)} of {figure(check, limit)}"
        for check, value, limit in zip(shown["check"], shown["value"], shown["limit"], strict=True)
    ]
    order = list(shown["title"])
    base = alt.Chart(shown, width=WIDTH - 60, height=alt.Step(38))
    y = alt.Y(
        "title:N",
        sort=order,
        title=None,
        axis=alt.Axis(labelExpr="split(datum.value, '\\n')", labelLimit=140, labelPadding=8),
    )
    scale = alt.Scale(domain=[-1.05, 2.05], nice=False)
    labels = "datum.value == 0 ? 'none' : datum.value == 1 ? 'limit' : ''"
    x = alt.X("value_share:Q", title=None, scale=scale, axis=alt.Axis(values=[-1, 0, 1, 2], labelExpr=labels))
    colour = alt.Color(
        "outcome:N",
        title=None,
        scale=alt.Scale(domain=OUTCOMES, range=COLOURS),
        legend=alt.Legend(orient="top", symbolLimit=3),
    )
    shape = alt.Shape("outcome:N", title=None, scale=alt.Scale(domain=OUTCOMES, range=SHAPES))
    tooltip = ["title", "outcome", "sentence"]
    bars = base.mark_rule(strokeWidth=2).encode(x="low_share:Q", x2="high_share:Q", y=y, color=colour)
    points = base.mark_point(size=90, filled=True, opacity=1).encode(
        x=x, y=y, color=colour, shape=shape, tooltip=tooltip
    )
    limit = base.mark_rule(strokeDash=[4, 3], color=GREY).encode(x=alt.datum(1))
    return alt.layer(limit, bars, points)


_FORMS = {
    "overall_drop_pp": ("drop of accuracy", 1, "{:.2f} pp"),
    "worst_class_drop_pp": ("drop of worst class", 1, "{:.2f} pp"),
    "harmed_share": ("harmed classes", 100, "{:.1f} %"),
    "flips": ("flips", 100, "{:.2f} %"),
    "negative_flips": ("right to wrong", 100, "{:.2f} %"),
    "intensification": ("intensification", 1, "{:.3f}"),
    "size_bytes": ("size", 1e-6, "{:.3g} MB"),
    "size_ratio": ("size against baseline", 100, "{:.1f} %"),
}


def title(check: str) -> str:
    """Name of a check for people.

    Example:
        >>> title("negative_flips")
        'right to wrong'
    """
    return _FORMS[check][0]


def figure(check: str, value: float) -> str:
    """A value of a check with its unit.

    Example:
        >>> figure("flips", 0.0123), figure("size_bytes", 1_250_000), figure("intensification", float("nan"))
        ('1.23 %', '1.25 MB', 'unknown')
    """
    _, factor, form = _FORMS[check]
    return "unknown" if math.isnan(value) else form.format(factor * value)
