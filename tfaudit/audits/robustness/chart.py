"""Accuracy under corruption: relative change per corruption and variant, and accuracy over severity."""

from collections.abc import Collection, Mapping, Sequence

import altair as alt
import pandas as pd

from tfaudit.charts.panels import in_grid
from tfaudit.charts.style import HUES, SLATE, WIDTH, Drawing, categories, tooltips

MOST = 4  # panels side by side

WORDS = "replace(datum.label, /_/g, ' ')"
"""Names of corruptions in words."""


def relative_change_chart(
    levels: Mapping[str, pd.DataFrame], *, k: int = 1, mean: str = "all corruptions"
) -> Drawing:
    """Draw [F] figures 4 and 7: change of top-k accuracy relative to the baseline's under the same corruption.

    A dot per corruption and variant with its interval, corruptions by their largest fall; the mean over them last.

    Args:
        levels: `Robustness.changes` by title, in the order of the legend.
        k: 1 or 5.
        mean: name of the rows of the mean over all corruptions.
    """
    tables = [changes.assign(level=title) for title, changes in levels.items()]
    shown = pd.concat(tables, ignore_index=True).query("k == @k").dropna(subset=["relative_change"])
    order = list(shown.groupby("corruption")["relative_change"].min().sort_values().index)
    if mean in order:
        corruptions = [name for name in order if name != mean]
        order = [*corruptions, mean] if len(corruptions) > 1 else corruptions
    shown = shown[shown["corruption"].isin(order)].copy()
    shown[["relative_change", "relative_low", "relative_high"]] *= 100
    height = alt.Step(max(22, 6 + 7 * len(levels)), **{"for": "position"})
    axis = alt.Axis(labelLimit=120, labelPadding=6, labelFlush=False, grid=True, labelExpr=WORDS)
    base = alt.Chart(shown, width=WIDTH - 60, height=height).encode(
        y=alt.Y("corruption:N", sort=order, title=None, axis=axis),
        yOffset=alt.YOffset("level:N", sort=[*levels]),
        color=_levels([*levels], HUES),
    )
    title = f"change of top-{k} accuracy, % of the baseline's"
    low = alt.X("relative_low:Q", title=title)
    rules = base.mark_rule(strokeWidth=2, opacity=0.45).encode(x=low, x2=alt.X2("relative_high:Q"))
    dots = base.mark_circle(size=38, opacity=1).encode(
        x=alt.X("relative_change:Q", title=title, axis=alt.Axis(tickCount=5)),
        tooltip=[
            *tooltips("corruption", "level", relative_change="+.2f", change_pp="+.2f"),
            alt.Tooltip("verdict"),
        ],
    )
    zero = alt.Chart(shown).mark_rule(strokeWidth=1, color=SLATE).encode(x=alt.XDatum(0))
    return alt.layer(zero, rules, dots)


def severity_chart(
    levels: Mapping[str, pd.DataFrame],
    *,
    baseline: str = "before",
    k: int = 1,
    corruptions: Collection[str] | None = None,
) -> Drawing:
    """Draw mean top-k accuracy over severity, a panel per corruption that has severities, a line per variant.

    Severity 0 is the clean images, if the curves contain them.

    Args:
        levels: `Robustness.curves` by title, in the order of the legend, against the same baseline.
        baseline: title of the uncompressed population.
        k: 1 or 5.
        corruptions: to draw; all by default.
    """
    parts = []
    for i, (title, curves) in enumerate(levels.items()):
        rows = curves[curves["k"] == k]
        if corruptions is not None:
            rows = rows[rows["corruption"].isin(list(corruptions))]
        for level, column in ((baseline, "accuracy_before"), (title, "accuracy_after"))[i > 0 :]:
            parts.append(
                rows[["corruption", "severity"]].assign(level=level, accuracy=100 * rows[column])
            )
    shown = pd.concat(parts, ignore_index=True).dropna(subset=["accuracy"])
    names = list(dict.fromkeys(shown["corruption"]))
    several = len(names) > 1
    width, height = (98, 150) if several else (WIDTH, WIDTH // 2)
    colour = _levels([baseline, *levels], [SLATE, *HUES])
    severities = alt.Axis(values=sorted(set(shown["severity"])), format="d", grid=False)
    reach = alt.Scale(
        zero=False,
        nice=True,
        domain=[float(shown["accuracy"].min()), float(shown["accuracy"].max())],
    )
    tooltip = tooltips("corruption", "level", "severity", accuracy=".2f")

    def panel(name: str) -> Drawing:
        rows = shown[shown["corruption"] == name]
        base = alt.Chart(rows, title=name.replace("_", " "), width=width, height=height).encode(
            x=alt.X("severity:Q", title="severity", axis=severities),
            y=alt.Y("accuracy:Q", title=f"top-{k}, %", scale=reach, axis=alt.Axis(tickCount=4)),
            color=colour.legend(None) if several else colour,
        )
        dense = alt.FieldEqualPredicate(field="level", equal=baseline)
        lines = base.transform_filter(~dense).mark_line(strokeWidth=1.8)
        dashes = base.transform_filter(dense).mark_line(
            strokeWidth=1.8, strokeDash=[5, 4]
        )  # equal to some variant's
        return alt.layer(
            lines, dashes, base.mark_circle(size=20, opacity=1).encode(tooltip=tooltip)
        )

    panels = [panel(name) for name in names]
    return in_grid(panels, most=MOST, legend=[colour]) if several else panels[0]


def _levels(titles: Sequence[str], hues: Sequence[str]) -> alt.Color:
    colour = categories(
        "level", titles, hues[: len(titles)], columns=2, symbolOpacity=1, labelLimit=150
    )
    return colour if len(titles) <= len(hues) else colour.scale(domain=titles, scheme="turbo")
