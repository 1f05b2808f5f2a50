"""Recall balances of the classes after compression against before."""

import altair as alt
import numpy as np
import pandas as pd

from tfaudit.charts.panels import in_grid
from tfaudit.charts.sampling import MOST_POINTS
from tfaudit.charts.style import AMBER, BLUE, WIDTH, Drawing, diagonal, tooltips

SHOWN = ["x", "y", "class", "member", "rate_before", "rate_after"]


def _some(points: pd.DataFrame) -> pd.DataFrame:
    """Return all points, or if they are too many, a seeded sample drawn equally from all panels."""
    if len(points) <= MOST_POINTS:
        return points
    share = MOST_POINTS // points["panel"].nunique()
    return points.sample(frac=1, random_state=0).groupby("panel").head(share)


def balance_chart(points: pd.DataFrame, panels: pd.DataFrame) -> Drawing:
    """Draw [R] figures 5-8: a point per class and member, the pooled slope in amber, equality dashed, per level.

    Two methods (or models) at the same levels are neighbours. If there are more than 4,500 points, a seeded sample is
    drawn equally from all panels, and the title says so.

    Args:
        points: table that `tfaudit.extensions.distortion.slopes.balance_frame` returns.
        panels: table that `tfaudit.extensions.distortion.slopes.pooled_frame` returns.
    """
    factors = list(panels.columns[: list(panels.columns).index("metric")])
    panels = _titled(panels, factors)
    complete = points.dropna(subset=["normalised_before", "normalised_after"])
    complete = complete.merge(panels[[*factors, "panel"]], on=factors)
    complete[["x", "y"]] = 100 * complete[["normalised_before", "normalised_after"]]
    drawn = _some(complete)
    some = []
    if len(drawn) < len(complete):
        some = [f"{len(drawn):,} of {len(complete):,} points drawn"]
    ends = np.array([drawn["x"].min(), drawn["x"].max()])
    gradients = [1, *panels["pooled_slope"].dropna()]
    heights = [*drawn["y"], *np.outer(gradients, ends).ravel()]
    single = len(panels) == 1
    of = " of accuracy" if single else ""  # titles of small panels side by side would overlap
    reaches = [[float(min(values)), float(max(values))] for values in (ends, heights)]
    across, along = (alt.Scale(zero=False, nice=True, domain=reach) for reach in reaches)
    x = alt.X("x:Q", title=f"recall minus accuracy before, %{of}", scale=across).axis(tickCount=5)
    y = alt.Y("y:Q", title=f"after, %{of}", scale=along).axis(tickCount=5)
    tooltip = tooltips("class", "member", rate_before=".3f", rate_after=".3f")
    opacity = 0.6 if len(drawn) / len(panels) < 300 else 0.25
    width, height = (WIDTH, WIDTH * 2 // 3) if single else (110, 150)

    def panel(title: str, pooled: float) -> Drawing:
        rows = alt.Chart(drawn.loc[drawn["panel"] == title, SHOWN])
        dots = rows.mark_circle(size=22, color=BLUE, opacity=opacity)
        slope = alt.Chart(pd.DataFrame({"x": ends, "y": pooled * ends})).encode(x=x, y=y)
        chart = alt.layer(
            dots.encode(x=x, y=y, tooltip=tooltip),
            diagonal(x, y, *ends),
            slope.mark_line(color=AMBER, strokeWidth=2),
        )
        lines = [*title.split("|"), *(some if single else [])]
        return chart.properties(width=width, height=height, title=lines)

    charts = [panel(*row) for row in panels[["panel", "pooled_slope"]].itertuples(index=False)]
    if single:
        return charts[0]
    chart = in_grid(charts, most=4)
    return chart.properties(title=some) if some else chart


def _titled(panels: pd.DataFrame, factors: list[str]) -> pd.DataFrame:
    """Return the panels with their titles, `panel`; if two groups have the same levels, equal levels are neighbours."""
    group = group_names(panels, [name for name in factors if name != "level"])
    titled = panels.assign(
        group=group, panel=[_caption(row, factors) for row in panels.to_dict("records")]
    )
    if "level" in factors and titled.groupby("level")["group"].nunique().eq(2).all():
        titled = titled.iloc[np.argsort(pd.factorize(titled["level"])[0], kind="stable")]
    return titled


def group_names(frame: pd.DataFrame, factors: list[str]) -> list[str]:
    """Return the values of the factors of each row as one name."""
    return [" ".join(_plain(row[name]) for name in factors) for row in frame.to_dict("records")]


def _plain(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _caption(row: dict, factors: list[str]) -> str:
    name = " ".join(_plain(row[factor]) for factor in factors)
    published = f"published slope {row['pooled_slope']:.2f}, r² {row['pooled_r2']:.2f}"
    accuracy = f"accuracy {100 * row['accuracy_after']:.1f} %"
    figures = f"{published}|{accuracy}".replace("-", "−")
    return f"{name}|{figures}" if name else figures
