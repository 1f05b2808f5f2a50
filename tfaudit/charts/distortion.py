"""Recall balances of the classes after compression against before."""

import altair as alt
import pandas as pd

from tfaudit.charts.sampling import MOST_POINTS
from tfaudit.charts.style import AMBER, BLUE, GREY, WIDTH, Drawing, numbers


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
        panels = panels.sort_values("level", kind="stable", key=lambda levels: pd.factorize(levels)[0])
    panels["panel"] = [_caption(row, factors) for row in panels.to_dict("records")]
    complete = points.dropna(subset=["normalised_before", "normalised_after"])
    complete = complete.merge(panels[[*factors, "panel"]], on=factors)
    complete = complete.assign(x=100 * complete["normalised_before"], y=100 * complete["normalised_after"])
    drawn = complete
    if len(complete) > MOST_POINTS:
        share = MOST_POINTS // complete["panel"].nunique()
        drawn = complete.sample(frac=1, random_state=0).groupby("panel").head(share)
    ends = drawn["x"].min(), drawn["x"].max()
    lines = [
        {"panel": row["panel"], "kind": kind, "x": x, "y": gradient * x}
        for row in panels.to_dict("records")
        for kind, gradient in (("equal", 1.0), ("slope", row["pooled_slope"]))
        for x in ends
    ]
    shown = ["panel", "kind", "x", "y", "class", "member", "rate_before", "rate_after"]
    table = pd.concat([pd.DataFrame(lines), drawn.assign(kind="class")], ignore_index=True)[shown]
    single = len(panels) == 1
    width, height = (WIDTH, WIDTH * 2 // 3) if single else (150, 120)
    of = " of accuracy" if single else ""  # titles of small panels side by side would overlap
    base = alt.Chart(width=width, height=height).encode(
        x=alt.X("x:Q", title=f"balance before, %{of}", axis=alt.Axis(tickCount=5)),
        y=alt.Y("y:Q", title=f"balance after, %{of}", axis=alt.Axis(tickCount=5)),
    )
    tooltip = ["class", "member", *numbers(rate_before=".3f", rate_after=".3f")]
    opacity = 0.6 if len(drawn) / len(panels) < 300 else 0.25
    classes, equal, slope = (base.transform_filter(f"datum.kind == '{kind}'") for kind in ("class", "equal", "slope"))
    dots = classes.mark_circle(size=22, color=BLUE, opacity=opacity).encode(tooltip=tooltip)
    dashes = equal.mark_line(color=GREY, strokeDash=[4, 4], strokeWidth=1.5)
    chart = alt.layer(dots, dashes, slope.mark_line(color=AMBER, strokeWidth=2), data=table)
    some = [] if len(drawn) == len(complete) else [f"{len(drawn):,} of {len(complete):,} points drawn"]
    if single:
        return chart.properties(title=[*panels["panel"].iloc[0].split("|"), *some])
    header = alt.Header(labelExpr="split(datum.label, '|')", labelAnchor="start", labelLimit=width)
    facet = alt.Facet("panel:N", sort=list(panels["panel"]), title=None, header=header)
    chart = chart.facet(facet=facet, columns=columns, spacing=14)
    return chart.properties(title=some) if some else chart


def group_names(frame: pd.DataFrame, factors: list[str]) -> list[str]:
    """Return the values of the factors of each row as one name."""
    return [" ".join(_plain(row[name]) for name in factors) for row in frame.to_dict("records")]


def _plain(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _caption(row: dict, factors: list[str]) -> str:
    name = " ".join(_plain(row[factor]) for factor in factors)
    figures = f"slope {row['pooled_slope']:.2f}, r² {row['pooled_r2']:.2f}|accuracy {100 * row['accuracy_after']:.1f} %"
    return f"{name}|{figures}" if name else figures
