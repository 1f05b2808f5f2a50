"""Recall balances of the classes after compression against before."""

from __future__ import annotations

import altair as alt
import pandas as pd

from tfaudit.charts.style import AMBER, BLUE, GREY, WIDTH, Drawing

__all__ = ["balance_chart", "group_names"]

MOST_POINTS = 4500
"""Points at most; Altair accepts 5,000 rows, and the lines of the panels are rows as well."""


def balance_chart(points: pd.DataFrame, panels: pd.DataFrame, *, columns: int = 2) -> Drawing:
    """Draw [R] figures 5-8: a point per class and member, the pooled slope in amber, equality dashed, per level.

    Two methods (or models) at the same levels are side by side, more of them below each other. Of more than 4,500
    points a seeded sample is drawn, equally from all panels, and the title says so.

    Args:
        points: of `tfaudit.audit.distortion.slopes.balance_frame`.
        panels: of `tfaudit.audit.distortion.slopes.pooled_frame`.
        columns: panels side by side.
    """
    factors = list(panels.columns[: list(panels.columns).index("metric")])
    panels = panels.assign(group=group_names(panels, [name for name in factors if name != "level"]))
    if "level" in factors and panels.groupby("level")["group"].nunique().eq(2).all():
        panels = panels.sort_values("level", kind="stable", key=lambda levels: levels.map(_ranks(levels)))
    panels["panel"] = [_caption(row, factors) for row in panels.to_dict("records")]
    complete = points.dropna(subset=["normalised_before", "normalised_after"]).merge(
        panels[[*factors, "panel"]], on=factors
    )
    drawn = _sampled(complete).assign(
        kind="class", x=100 * complete["normalised_before"], y=100 * complete["normalised_after"]
    )
    ends = drawn["x"].min(), drawn["x"].max()
    lines = [
        {"panel": row["panel"], "kind": kind, "x": x, "y": gradient * x}
        for row in panels.to_dict("records")
        for kind, gradient in (("equal", 1.0), ("slope", row["pooled_slope"]))
        for x in ends
    ]
    shown = ["panel", "kind", "x", "y", "class", "member", "rate_before", "rate_after"]
    table = pd.concat([pd.DataFrame(lines), drawn], ignore_index=True)[shown]
    single = len(panels) == 1
    base = alt.Chart(width=WIDTH if single else 150, height=WIDTH * 2 // 3 if single else 120).encode(
        x=alt.X("x:Q", title="balance before, % of accuracy", axis=alt.Axis(tickCount=5)),
        y=alt.Y("y:Q", title="balance after, % of accuracy", axis=alt.Axis(tickCount=5)),
    )
    tooltip = [*shown[4:6], *(alt.Tooltip(f"{name}:Q", format=".3f") for name in shown[6:])]
    opacity = 0.6 if len(drawn) / len(panels) < 300 else 0.25
    layers = (
        base.transform_filter("datum.kind == 'class'")
        .mark_circle(size=22, color=BLUE, opacity=opacity)
        .encode(tooltip=tooltip),
        base.transform_filter("datum.kind == 'equal'").mark_line(color=GREY, strokeDash=[4, 4], strokeWidth=1.5),
        base.transform_filter("datum.kind == 'slope'").mark_line(color=AMBER, strokeWidth=2),
    )
    some = [] if len(drawn) == len(complete) else [f"{len(drawn):,} of {len(complete):,} points drawn"]
    chart = alt.layer(*layers, data=table)
    if single:
        return chart.properties(title=[*panels["panel"].iloc[0].split("|"), *some])
    header = alt.Header(labelExpr="split(datum.label, '|')", labelAnchor="start", labelLimit=180)
    facet = alt.Facet("panel:N", sort=list(panels["panel"]), title=None, header=header)
    chart = chart.facet(facet=facet, columns=columns, spacing=14)
    return chart.properties(title=some) if some else chart


def group_names(frame: pd.DataFrame, factors: list[str]) -> list[str]:
    """Return the values of the factors of each row as one name."""
    return [" ".join(_plain(row[name]) for name in factors) for row in frame.to_dict("records")]


def _plain(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _sampled(points: pd.DataFrame) -> pd.DataFrame:
    if len(points) <= MOST_POINTS:
        return points
    share = MOST_POINTS // points["panel"].nunique()
    return points.sample(frac=1, random_state=0).groupby("panel").head(share)


def _ranks(levels: pd.Series) -> dict[object, int]:
    return {level: i for i, level in enumerate(dict.fromkeys(levels))}


def _caption(row: dict, factors: list[str]) -> str:
    name = " ".join(_plain(row[factor]) for factor in factors)
    figures = f"slope {row['pooled_slope']:.2f}, r² {row['pooled_r2']:.2f}, acc. {100 * row['accuracy_after']:.1f} %"
    return f"{name}|{figures}" if name else figures
