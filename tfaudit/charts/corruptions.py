"""Accuracy under corruption: relative change per corruption and variant, and accuracy over severity."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import altair as alt
import pandas as pd

from tfaudit.charts.style import HUES, SLATE, WIDTH, Drawing

__all__ = ["relative_change_chart", "severity_chart"]

COLUMNS = 3
"""Panels side by side."""


def relative_change_chart(levels: Mapping[str, pd.DataFrame], *, k: int = 1, mean: str = "all corruptions") -> Drawing:
    """Draw [F] figures 4 and 7: change of top-k accuracy relative to the baseline's under the same corruption.

    A dot per corruption and variant with its interval, corruptions by their largest fall; the mean over them last.

    Args:
        levels: `Robustness.changes` by title, in the order of the legend.
        k: 1 or 5.
        mean: name of the rows of the mean over all corruptions.
    """
    tables = [changes.assign(level=title) for title, changes in levels.items()]
    shown = pd.concat(tables, ignore_index=True).query("k == @k").dropna(subset=["relative_change"])
    order = [name for name in shown.groupby("corruption")["relative_change"].min().sort_values().index]
    if mean in order:
        order = [name for name in order if name != mean] + [mean] * (len(order) > 2)
    shown = shown[shown["corruption"].isin(order)]
    for name in ("relative_change", "relative_low", "relative_high"):
        shown[name] = 100 * shown[name]
    base = alt.Chart(
        shown,
        width=WIDTH - 60,
        height=alt.Step(max(18, 6 + 7 * len(levels)), **{"for": "position"}),
    ).encode(
        y=alt.Y("corruption:N", sort=order, title=None, axis=alt.Axis(labelLimit=120, labelPadding=6, grid=True)),
        yOffset=alt.YOffset("level:N", sort=[*levels]),
        color=_levels([*levels], HUES),
    )
    title = f"change of top-{k} accuracy, % of the baseline's"
    rules = base.mark_rule(strokeWidth=2, opacity=0.45).encode(
        x=alt.X("relative_low:Q", title=title), x2="relative_high:Q"
    )
    dots = base.mark_circle(size=38, opacity=1).encode(
        x=alt.X("relative_change:Q", title=title, axis=alt.Axis(tickCount=5)),
        tooltip=[
            "corruption",
            "level",
            *(alt.Tooltip(f"{name}:Q", format="+.2f") for name in ("relative_change", "difference_pp")),
            alt.Tooltip("p:Q", format=".2g"),
        ],
    )
    zero = alt.Chart(shown).mark_rule(strokeWidth=1, color=SLATE).encode(x=alt.datum(0))
    return alt.layer(zero, rules, dots)


def severity_chart(
    levels: Mapping[str, pd.DataFrame],
    *,
    baseline: str = "before",
    k: int = 1,
    corruptions: Collection[str] | None = None,
    side: int = 98,
) -> Drawing:
    """Draw mean top-k accuracy over severity, a panel per corruption that has severities, a line per variant.

    Severity 0 is the clean images, if the curves contain them.

    Args:
        levels: `Robustness.curves` by title, in the order of the legend, against the same baseline.
        baseline: title of the uncompressed population.
        k: 1 or 5.
        corruptions: to draw; all by default.
        side: pixels of the width of each of several panels.
    """
    parts = []
    for i, (title, curves) in enumerate(levels.items()):
        rows = curves[curves["k"] == k]
        if corruptions is not None:
            rows = rows[rows["corruption"].isin(list(corruptions))]
        for level, column in ((baseline, "accuracy_before"), (title, "accuracy_after"))[i > 0 :]:
            parts.append(rows[["corruption", "severity"]].assign(level=level, accuracy=100 * rows[column]))
    shown = pd.concat(parts, ignore_index=True).dropna(subset=["accuracy"])
    panels = list(dict.fromkeys(shown["corruption"]))
    single = len(panels) == 1
    base = alt.Chart(width=WIDTH if single else side, height=WIDTH // 2 if single else side - 8).encode(
        x=alt.X(
            "severity:Q", title="severity", axis=alt.Axis(values=sorted(set(shown["severity"])), format="d", grid=False)
        ),
        y=alt.Y("accuracy:Q", title=f"top-{k}, %", scale=alt.Scale(zero=False, nice=True), axis=alt.Axis(tickCount=4)),
        color=_levels([baseline, *levels], [SLATE, *HUES]),
    )
    lines = base.mark_line(strokeWidth=1.8)
    points = base.mark_circle(size=20, opacity=1).encode(
        tooltip=["corruption", "level", "severity", alt.Tooltip("accuracy:Q", format=".2f")]
    )
    facet = alt.Facet("corruption:N", sort=panels, title=None, header=alt.Header(labelAnchor="start", labelLimit=120))
    return alt.layer(lines, points, data=shown).facet(facet=facet, columns=COLUMNS, spacing=12)


def _levels(titles: Sequence[str], hues: Sequence[str]) -> alt.Color:
    scale = alt.Scale(domain=titles, range=list(hues[: len(titles)]))
    if len(titles) > len(hues):
        scale = alt.Scale(domain=titles, scheme="turbo")
    return alt.Color(
        "level:N",
        title=None,
        scale=scale,
        legend=alt.Legend(orient="top", columns=2, symbolOpacity=1, labelLimit=130),
    )
