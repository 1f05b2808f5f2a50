"""Coefficients of the regression of class accuracy, and diagnostics of the fit."""

import altair as alt
import numpy as np
import pandas as pd

from tfaudit.charts.style import BLUE, GREY, PLUM, WIDTH, Drawing, categories, tooltips

SCATTERED = 2000  # rows at most of which each is a dot
RANGES = 12  # of the observed accuracy in the panel of residuals
_QUANTILES = {"low": 0.05, "median": 0.5, "high": 0.95}
BINS = 40  # of the histogram, and of each axis of the cells

HYPOTHESES = {
    "imbalance": (0.01, "point of training share"),
    "class_entropy": (1.0, "bit of entropy"),
}


def coefficient_chart(frame: pd.DataFrame, fit: str) -> Drawing:
    """Draw estimates with their intervals: the hypotheses of [P], each in its own unit, above the other terms.

    Args:
        frame: of a `Factors`, with the terms in words as `label`; the intercept is not drawn.
        fit: "ols" (the change of accuracy is drawn in percentage points) or "binomial" (log-odds).
    """
    shown = frame[frame["term"] != "Intercept"].copy()
    shown["evidence"] = np.where(
        (shown["low"] > 0) | (shown["high"] < 0), "interval without 0", "no evidence"
    )
    if fit == "ols":
        shown[["estimate", "low", "high"]] *= 100
    unit = "points of accuracy" if fit == "ols" else "log-odds"
    panels = []
    for term, (step, per) in HYPOTHESES.items():
        row = shown[shown["term"] == term].copy()
        row[["estimate", "low", "high"]] *= step
        if len(row):
            panels.append(_coefficients(row, f"{unit} per {per}"))
    rest = shown[~shown["term"].isin(list(HYPOTHESES))]
    if len(rest):
        panels.append(_coefficients(rest, f"{unit} per unit of the term"))
    return alt.vconcat(*panels, spacing=12)


def _coefficients(rows: pd.DataFrame, title: str) -> alt.LayerChart | alt.FacetChart:
    base = alt.Chart(rows, width=WIDTH - 140, height=alt.Step(20))
    colour = categories("evidence", ["interval without 0", "no evidence"], [PLUM, GREY])
    y = alt.Y("label:N", sort=None, title=None, axis=alt.Axis(labelLimit=270, labelFlush=False))
    x = alt.X("low:Q", title=title, axis=alt.Axis(tickCount=5))
    zero = base.mark_rule(color=GREY, strokeDash=[3, 3]).encode(x=alt.XDatum(0))
    interval = base.mark_rule(strokeWidth=2).encode(x=x, x2=alt.X2("high:Q"), y=y, color=colour)
    figures = tooltips(**dict.fromkeys(("estimate", "low", "high", "p"), ".3~g"))
    points = base.mark_circle(size=60, opacity=1).encode(
        x=alt.X("estimate:Q"),
        y=y,
        color=colour,
        tooltip=[alt.Tooltip("label:N", title="term"), *figures],
    )
    return alt.layer(zero, interval, points)


def diagnostics_chart(residuals: pd.DataFrame) -> Drawing:
    """Draw [P] figures 14 and 15: fitted against observed accuracy, a histogram of the residuals, and their spread.

    The last panel has the median residual in ranges of the observed accuracy; bars go from the 5 to the 95 % quantile.
    More than 2,000 rows are drawn as cells, shaded by their share of the rows of the same observed accuracy.

    Args:
        residuals: of a `Factors`.
    """
    values = 100 * residuals[["observed", "fitted", "residual"]]
    low = values[["observed", "fitted"]].min().min()
    high = values[["observed", "fitted"]].max().max()
    edges = np.linspace(low, high, BINS + 1)
    x = alt.X("observed:Q", title="observed accuracy, %", scale=alt.Scale(domain=[low, high]))
    y = alt.Y("fitted:Q", title="fitted accuracy, %", scale=alt.Scale(domain=[low, high]))
    if len(values) <= SCATTERED:
        cloud = alt.Chart(values).mark_circle(color=BLUE, opacity=0.5, size=25).encode(x=x, y=y)
    else:
        cloud = _cells(values, edges, x, y)
    ends = pd.DataFrame({"observed": [low, high], "fitted": [low, high]})
    diagonal = alt.Chart(ends).mark_line(color=GREY, strokeDash=[3, 3]).encode(x=x, y=y)
    counts, edges = np.histogram(values["residual"], BINS)
    bars = pd.DataFrame({"count": counts, "residual": edges[:-1], "end": edges[1:]})
    residual = alt.X("residual:Q", title="observed minus fitted, points")
    histogram = alt.Chart(bars, width=WIDTH - 20, height=120).mark_rect(color=BLUE)
    histogram = histogram.encode(x=residual, x2=alt.X2("end:Q"), y=alt.Y("count:Q", title="rows"))
    fit = alt.layer(cloud, diagonal).properties(width=WIDTH - 20, height=260)
    return alt.vconcat(fit, histogram, _residuals_by_target(values), spacing=16)


def _residuals_by_target(values: pd.DataFrame) -> alt.LayerChart | alt.FacetChart:
    """Draw [P] figure 15b: residuals as a function of the observed accuracy."""
    ranges = pd.qcut(
        values["observed"], min(RANGES, values["observed"].nunique()), duplicates="drop"
    )
    by = values.groupby(ranges, observed=True)
    rows = pd.DataFrame(
        {
            "observed": by["observed"].mean(),
            "rows": by.size(),
            **{name: by["residual"].quantile(level) for name, level in _QUANTILES.items()},
        }
    ).reset_index(drop=True)
    x = alt.X("observed:Q", title="observed accuracy, %", scale=alt.Scale(zero=False))
    y = alt.Y("low:Q", title="observed minus fitted, points")
    base = alt.Chart(rows, width=WIDTH - 20, height=140)
    zero = base.mark_rule(color=GREY, strokeDash=[3, 3]).encode(y=alt.YDatum(0))
    bars = base.mark_rule(strokeWidth=2, color=BLUE).encode(x=x, y=y, y2=alt.Y2("high:Q"))
    tooltip = tooltips("rows", observed=".2f", low="+.2f", median="+.2f", high="+.2f")
    points = base.mark_circle(size=50, color=BLUE, opacity=1).encode(
        x=x, y=alt.Y("median:Q"), tooltip=tooltip
    )
    return alt.layer(zero, bars, points)


def _cells(values: pd.DataFrame, edges: np.ndarray, x: alt.X, y: alt.Y) -> alt.Chart:
    counts, *_ = np.histogram2d(values["observed"], values["fitted"], [edges, edges])
    column, row = np.nonzero(counts)
    share = counts[column, row] / counts.sum(1)[column]
    cells = pd.DataFrame({"observed": edges[column], "fitted": edges[row], "share": share})
    cells["right"], cells["top"] = edges[column + 1], edges[row + 1]
    shade = alt.Opacity(
        "share:Q",
        title="share of the rows of this observed accuracy",
        scale=alt.Scale(domain=[0, share.max()], range=[0.05, 1]),
        legend=alt.Legend(orient="top", titleLimit=WIDTH),
    )
    return (
        alt.Chart(cells)
        .mark_rect(color=BLUE)
        .encode(x=x, x2=alt.X2("right:Q"), y=y, y2=alt.Y2("top:Q"), opacity=shade)
    )
