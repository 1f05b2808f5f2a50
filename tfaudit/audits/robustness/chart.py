"""Accuracy under corruption: relative change per corruption and variant, and accuracy over severity."""

from collections.abc import Mapping, Sequence

import altair as alt
import pandas as pd

from tfaudit.audits.robustness.accuracy_changes import OVERALL
from tfaudit.charts.panels import in_grid
from tfaudit.charts.style import HUES, SLATE, WIDTH, Drawing, categories, tooltips

MOST = 4  # panels side by side

WORDS = "replace(datum.label, /_/g, ' ')"
"""Names of corruptions in words."""


def relative_change_chart(levels: Mapping[str, pd.DataFrame], *, k: int = 1) -> Drawing:
    """Draw [F] figures 4 and 7: change of top-k accuracy relative to the baseline's under the same corruption.

    Each corruption and variant has a dot with its interval. Corruptions are sorted by their largest fall; their mean
    comes last.

    Args:
        levels: `Robustness.changes` by title, in the order of the legend.
        k: 1 (the default) or 5.
    """
    tables = [changes.assign(level=title) for title, changes in levels.items()]
    shown = pd.concat(tables, ignore_index=True).query("k == @k").dropna(subset=["relative_change"])
    deepest = shown.groupby("corruption")["relative_change"].min().sort_values()
    order = list(deepest.drop(OVERALL, errors="ignore").index)
    if OVERALL in deepest and len(order) > 1:
        order.append(OVERALL)
    shown = shown[shown["corruption"].isin(order)].copy()
    shown[["relative_change", "relative_low", "relative_high"]] *= 100
    height = alt.Step(max(22, 6 + 7 * len(levels)), **{"for": "position"})
    names = alt.Y("corruption:N", sort=order, title=None)
    base = alt.Chart(shown, width=WIDTH - 60, height=height).encode(
        y=names.axis(labelLimit=120, labelPadding=6, labelFlush=False, grid=True, labelExpr=WORDS),
        yOffset=alt.YOffset("level:N", sort=[*levels]),
        color=_levels([*levels], HUES),
    )
    title = f"change of top-{k} accuracy, % of the baseline's"
    intervals = base.mark_rule(strokeWidth=2, opacity=0.45).encode(
        x=alt.X("relative_low:Q", title=title), x2=alt.X2("relative_high:Q")
    )
    figures = tooltips("corruption", "level", relative_change="+.2f", change_pp="+.2f")
    dots = base.mark_circle(size=38, opacity=1).encode(
        x=alt.X("relative_change:Q", title=title).axis(tickCount=5),
        tooltip=[*figures, *tooltips("verdict")],
    )
    zero = alt.Chart(shown).mark_rule(strokeWidth=1, color=SLATE).encode(x=alt.XDatum(0))
    return alt.layer(zero, intervals, dots)


def severity_chart(
    levels: Mapping[str, pd.DataFrame],
    *,
    baseline: str = "before",
    k: int = 1,
) -> Drawing:
    """Draw mean top-k accuracy over severity, a panel per corruption that has severities, a line per variant.

    Severity 0 is the clean images, if the curves contain them.

    Args:
        levels: `Robustness.curves` by title, in the order of the legend, against the same baseline.
        baseline: title of the uncompressed population.
        k: 1 (the default) or 5.
    """
    first = next(iter(levels.values()))
    lines = [(baseline, first, "accuracy_before")]
    lines += [(title, rows, "accuracy_after") for title, rows in levels.items()]
    parts = [
        rows[["corruption", "severity", "k"]].assign(level=level, accuracy=100 * rows[column])
        for level, rows, column in lines
    ]
    shown = pd.concat(parts, ignore_index=True).query("k == @k").dropna(subset=["accuracy"])
    names = list(dict.fromkeys(shown["corruption"]))
    several = len(names) > 1
    width, height = (98, 150) if several else (WIDTH, WIDTH // 2)
    colour = _levels([baseline, *levels], [SLATE, *HUES])
    severities = sorted(set(shown["severity"]))
    reach = [float(shown["accuracy"].min()), float(shown["accuracy"].max())]
    x = alt.X("severity:Q", title="severity").axis(values=severities, format="d", grid=False)
    y = alt.Y("accuracy:Q", title=f"top-{k}, %").axis(tickCount=4)
    y = y.scale(zero=False, nice=True, domain=reach)
    dense = alt.FieldEqualPredicate(field="level", equal=baseline)

    def panel(name: str) -> Drawing:
        rows = shown[shown["corruption"] == name]
        title = name.replace("_", " ")
        base = alt.Chart(rows, title=title, width=width, height=height).encode(
            x=x, y=y, color=colour.legend(None) if several else colour
        )
        variants = base.transform_filter(~dense).mark_line(strokeWidth=1.8)
        # The dashed line is on top, as it may coincide with a variant's line.
        dashes = base.transform_filter(dense).mark_line(strokeWidth=1.8, strokeDash=[5, 4])
        tooltip = tooltips("corruption", "level", "severity", accuracy=".2f")
        dots = base.mark_circle(size=20, opacity=1).encode(tooltip=tooltip)
        return alt.layer(variants, dashes, dots)

    panels = [panel(name) for name in names]
    return in_grid(panels, most=MOST, legend=[colour]) if several else panels[0]


def _levels(titles: Sequence[str], hues: Sequence[str]) -> alt.Color:
    colour = categories(
        "level", titles, hues[: len(titles)], columns=2, symbolOpacity=1, labelLimit=150
    )
    return colour if len(titles) <= len(hues) else colour.scale(domain=titles, scheme="turbo")
