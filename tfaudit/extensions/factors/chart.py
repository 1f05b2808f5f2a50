"""Coefficients of the regression of class accuracy, and diagnostics of the fit."""

import altair as alt
import numpy as np
import pandas as pd

from tfaudit.charts.style import (
    BLUE,
    GREY,
    PLUM,
    WIDTH,
    Drawing,
    categories,
    dashed_rule,
    diagonal,
    tooltips,
)

SCATTERED = 2000  # maximum number of rows drawn as dots
RANGES = 12  # of the observed accuracy in the panel of residuals
BINS = 40  # of the histogram, and of each axis of the cells

HYPOTHESES = {
    "imbalance": (0.01, "point of training share"),
    "class_entropy": (1.0, "bit of entropy"),
}


def coefficient_chart(frame: pd.DataFrame, fit: str) -> Drawing:
    """Draw estimates with their intervals: the hypotheses of [P], each in its own unit, above the other terms.

    Args:
        frame: `frame` of a `Factors` with a column `label`, the terms in words; the intercept is not drawn.
        fit: "ols" (changes of accuracy, drawn in percentage points) or "binomial" (log-odds).
    """
    shown = frame[frame["term"] != "Intercept"].copy()
    certain = shown["low"] * shown["high"] > 0
    shown["evidence"] = certain.map({True: "interval without 0", False: "no evidence"})
    figures = ["estimate", "low", "high"]
    if fit == "ols":
        shown[figures] *= 100
    unit = "points of accuracy" if fit == "ols" else "log-odds"
    panels = []
    for term, (step, per) in HYPOTHESES.items():
        row = shown[shown["term"] == term].copy()
        row[figures] *= step
        panels.append((row, f"{unit} per {per}"))
    rest = shown[~shown["term"].isin(list(HYPOTHESES))]
    panels.append((rest, f"{unit} per unit of the term"))
    drawn = [_coefficients(rows, title) for rows, title in panels if len(rows)]
    return alt.vconcat(*drawn, spacing=12)


def _coefficients(rows: pd.DataFrame, title: str) -> Drawing:
    chart = alt.Chart(rows, width=WIDTH - 140, height=alt.Step(20))
    zero = dashed_rule(chart, x=alt.XDatum(0))
    base = chart.encode(
        y=alt.Y("label:N", sort=None, title=None).axis(labelLimit=270, labelFlush=False),
        color=categories("evidence", ["interval without 0", "no evidence"], [PLUM, GREY]),
    )
    intervals = base.mark_rule(strokeWidth=2).encode(
        x=alt.X("low:Q", title=title).axis(tickCount=5), x2=alt.X2("high:Q")
    )
    figures = tooltips(**dict.fromkeys(("estimate", "low", "high", "p"), ".3~g"))
    points = base.mark_circle(size=60, opacity=1).encode(
        x=alt.X("estimate:Q"), tooltip=[alt.Tooltip("label:N", title="term"), *figures]
    )
    return alt.layer(zero, intervals, points)


def diagnostics_chart(residuals: pd.DataFrame) -> Drawing:
    """Draw [P] figures 14 and 15: fitted against observed accuracy, a histogram of the residuals, and their spread.

    The last panel has the median residual in ranges of the observed accuracy; bars go from the 5 to the 95 % quantile.
    More than 2,000 rows are drawn as cells, shaded by their share of the rows of the same observed accuracy.

    Args:
        residuals: `residuals` of a `Factors`.
    """
    values = 100 * residuals[["observed", "fitted", "residual"]]
    accuracies = values[["observed", "fitted"]].to_numpy()
    reach = [accuracies.min(), accuracies.max()]
    x = alt.X("observed:Q", title="observed accuracy, %").scale(domain=reach)
    y = alt.Y("fitted:Q", title="fitted accuracy, %").scale(domain=reach)
    if len(values) <= SCATTERED:
        cloud = alt.Chart(values).mark_circle(color=BLUE, opacity=0.5, size=25).encode(x=x, y=y)
    else:
        cloud = _cells(values, np.linspace(reach[0], reach[1], BINS + 1)).encode(x=x, y=y)
    counts, edges = np.histogram(values["residual"], BINS)
    bars = pd.DataFrame({"count": counts, "residual": edges[:-1], "end": edges[1:]})
    histogram = (
        alt.Chart(bars, width=WIDTH - 20, height=120)
        .mark_rect(color=BLUE)
        .encode(
            x=alt.X("residual:Q", title="observed minus fitted, points"),
            x2=alt.X2("end:Q"),
            y=alt.Y("count:Q", title="rows"),
        )
    )
    fit = alt.layer(cloud, diagonal(x, y, *reach)).properties(width=WIDTH - 20, height=260)
    return alt.vconcat(fit, histogram, _residuals_by_target(values), spacing=16)


def _residuals_by_target(values: pd.DataFrame) -> Drawing:
    """Draw [P] figure 15b: residuals as a function of the observed accuracy."""
    most = min(RANGES, values["observed"].nunique())
    by = values.groupby(pd.qcut(values["observed"], most, duplicates="drop"), observed=True)
    rows = (
        by["residual"]
        .quantile(np.array([0.05, 0.5, 0.95]))
        .unstack()
        .set_axis(["low", "median", "high"], axis=1)
    )
    rows = rows.assign(observed=by["observed"].mean(), rows=by.size()).reset_index(drop=True)
    chart = alt.Chart(rows, width=WIDTH - 20, height=140)
    zero = dashed_rule(chart, y=alt.YDatum(0))
    base = chart.encode(x=alt.X("observed:Q", title="observed accuracy, %").scale(zero=False))
    y = alt.Y("low:Q", title="observed minus fitted, points")
    bars = base.mark_rule(strokeWidth=2, color=BLUE).encode(y=y, y2=alt.Y2("high:Q"))
    tooltip = tooltips("rows", observed=".2f", low="+.2f", median="+.2f", high="+.2f")
    points = base.mark_circle(size=50, color=BLUE, opacity=1).encode(
        y=alt.Y("median:Q"), tooltip=tooltip
    )
    return alt.layer(zero, bars, points)


def _cells(values: pd.DataFrame, edges: np.ndarray) -> alt.Chart:
    counts, *_ = np.histogram2d(values["observed"], values["fitted"], [edges, edges])
    column, row = np.nonzero(counts)
    share = counts[column, row] / counts.sum(1)[column]
    cells = pd.DataFrame({"observed": edges[column], "fitted": edges[row], "share": share})
    cells["right"], cells["top"] = edges[column + 1], edges[row + 1]
    shade = alt.Opacity("share:Q", title="share of the rows of this observed accuracy")
    shade = shade.scale(domain=[0, share.max()], range=[0.05, 1])
    return (
        alt.Chart(cells)
        .mark_rect(color=BLUE)
        .encode(
            x2=alt.X2("right:Q"),
            y2=alt.Y2("top:Q"),
            opacity=shade.legend(orient="top", titleLimit=WIDTH),
        )
    )
