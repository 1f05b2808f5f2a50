"""Variants side by side: recalls of classes, difficulty of exemplars, claims, and accuracies of members."""

import altair as alt
import pandas as pd

from tfaudit.charts.class_corruptions import SHOWN, WIDEST
from tfaudit.charts.classes import QUESTIONS
from tfaudit.charts.exemplars import COLOURS, GROUPS
from tfaudit.charts.style import INK, PALE, PLUM, SLATE, WIDTH, Drawing, tooltips

LINES = 200  # classes at most; more are those of the largest change


def recalls_chart(table: pd.DataFrame) -> Drawing:
    """Draw a panel per method: recall over sparsity, a line per class coloured by its recall before compression.

    Args:
        table: of `ClassRecalls`.
    """
    change = (table["recall"] - table["recall_before"]).abs().groupby(table["class_index"]).max()
    largest = change.sort_values(ascending=False, kind="stable").index[:LINES]
    shown = table[table["class_index"].isin(largest)].dropna(subset=["recall"])
    percent = {name: 100 * shown[name] for name in ("level", "recall", "recall_before")}
    shown = shown.assign(**percent)
    scale, legend = alt.Scale(scheme="viridis", zero=False), alt.Legend(orient="top", gradientLength=110)
    colour = alt.Color("recall_before:Q", title="recall before, %", scale=scale, legend=legend)
    x = alt.X("level:Q", title="sparsity, %", scale=alt.Scale(nice=False, padding=8), axis=alt.Axis(tickCount=6))
    y = alt.Y("recall:Q", title="recall, %", scale=alt.Scale(zero=False, nice=True), axis=alt.Axis(tickCount=5))
    tooltip = tooltips("class", "method", level=".4g", recall=".2f", recall_before=".2f")
    some = f"the {LINES} classes of largest change, of {len(change)}" if len(change) > LINES else ""
    panels = []
    for method, rows in shown.groupby("method", sort=False):
        base = alt.Chart(rows, width=WIDTH - 40, height=220).encode(x=x, y=y, color=colour, tooltip=tooltip)
        lines = base.mark_line(strokeWidth=1.8, opacity=0.85).encode(detail=alt.Detail("class_index:N"))
        panels.append(alt.layer(lines, base.mark_circle(size=28, opacity=1)).properties(title=f"{method}  {some}"))
    return panels[0] if len(panels) == 1 else alt.vconcat(*panels, spacing=20)


def difficulty_levels_chart(difficulty: pd.DataFrame) -> Drawing:
    """Draw the uncompressed models' top-1 accuracy on PIEs, on the others and on all, a row per variant.

    Args:
        difficulty: of `DifficultyLevels`.
    """
    rows = difficulty[(difficulty["population"] == "baseline") & (difficulty["k"] == 1)].dropna(subset=["accuracy"])
    shown = rows.assign(
        **{name: 100 * rows[name].clip(0, 1) for name in ("accuracy", "low", "high")},
    )
    order = list(dict.fromkeys(difficulty["title"]))
    scale = alt.Scale(domain=GROUPS, range=COLOURS)
    colour = alt.Color("group:N", title=None, scale=scale, legend=alt.Legend(orient="top", symbolOpacity=1))
    y = alt.Y("title:N", sort=order, title=None, axis=alt.Axis(labelLimit=150))
    x = alt.X("accuracy:Q", title="top-1 accuracy of uncompressed models, %", scale=alt.Scale(zero=False, nice=True))
    base = alt.Chart(shown, width=WIDTH - 80, height=alt.Step(24))
    bars = base.mark_rule(strokeWidth=2, opacity=0.5).encode(x=alt.X("low:Q"), x2=alt.X2("high:Q"), y=y, color=colour)
    tooltip = tooltips("title", "group", "examples", accuracy=".2f", low=".2f", high=".2f")
    dots = base.mark_circle(size=60, opacity=1).encode(x=x, y=y, color=colour, tooltip=tooltip)
    return alt.layer(bars, dots)


def claims_chart(cells: pd.DataFrame) -> Drawing:
    """Draw a heat map of the changes of recall by class and variant; a dot where the verdict is a claim.

    Args:
        cells: of `Claims`.
    """
    asked = QUESTIONS["change"]
    loss, gain, _ = asked.colours
    known = cells.dropna(subset=["change_pp"]).assign(claimed=lambda rows: rows["verdict"].isin([loss, gain]))
    largest = known["change_pp"].abs().groupby(known["class"]).max().sort_values(ascending=False, kind="stable")
    shown = known[known["class"].isin(largest.index[:SHOWN])]
    order = list(shown.groupby("class")["change_pp"].mean().sort_values(kind="stable").index)
    titles = list(dict.fromkeys(cells["title"]))
    reach = max(float(known["change_pp"].abs().max()), 1e-9) if len(known) else 1.0
    width = min(44, max(15, WIDEST // max(1, len(titles))))
    figures = tooltips(change_pp="+.2f", change_low_pp="+.2f", change_high_pp="+.2f", p_holm_all=".2g")
    base = alt.Chart(shown, width=alt.Step(width), height=alt.Step(16)).encode(
        x=alt.X("title:N", sort=titles, title=None, axis=alt.Axis(labelAngle=-50, labelLimit=130)),
        y=alt.Y("class:N", sort=order, title=None, axis=alt.Axis(labelLimit=100, labelOverlap=False)),
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
    some = f"the {SHOWN} classes of largest change, of {len(largest):,}" if len(largest) > SHOWN else ""
    return alt.layer(base.mark_rect().encode(color=colour), dots).properties(title=some)


def accuracies_chart(table: pd.DataFrame) -> Drawing:
    """Draw a panel per rank: a line per variant, a dot per member, a bar at the mean.

    Args:
        table: of `Accuracies`.
    """
    order, panels = list(dict.fromkeys(table["title"])), []
    for k, rows in table.assign(percent=100 * table["accuracy"]).groupby("k"):
        axis = alt.Axis(tickCount=5, format=".6~g")
        x = alt.X("percent:Q", title=f"top-{k} accuracy, %", scale=alt.Scale(zero=False, nice=True), axis=axis)
        y = alt.Y("title:N", sort=order, title=None, axis=alt.Axis(labelLimit=150))
        base = alt.Chart(rows, width=WIDTH - 80, height=alt.Step(22))
        tooltip = tooltips("title", "member", percent=".2f")
        dots = base.mark_circle(size=45, opacity=0.6, color=SLATE).encode(x=x, y=y, tooltip=tooltip)
        means = base.mark_tick(color=PLUM, thickness=3, size=16).encode(x=x.aggregate("mean"), y=y)
        panels.append(alt.layer(dots, means))
    return panels[0] if len(panels) == 1 else alt.vconcat(*panels, spacing=20)


def counts_chart(table: pd.DataFrame) -> Drawing:
    """Draw [P] figure 6: a bar of training images per class, coloured by its recall before compression.

    Args:
        table: of `ClassCounts`.
    """
    shown = table.assign(recall=100 * table["recall_before"]).sort_values("train_examples", ascending=False)
    some = f"the {LINES} classes of most images, of {len(shown):,}" if len(shown) > LINES else ""
    shown = shown.head(LINES)
    scale, legend = alt.Scale(scheme="viridis", zero=False), alt.Legend(orient="top", gradientLength=110)
    colour = alt.Color("recall:Q", title="recall before, %", scale=scale, legend=legend)
    axis = alt.Axis(labelAngle=-50, labelLimit=90)
    x = alt.X("class:N", sort=list(shown["class"]), title=None, axis=axis)
    tooltip = tooltips("class", "train_examples", recall=".2f")
    bars = alt.Chart(shown, width=WIDTH, height=180).mark_bar(stroke=None)
    y = alt.Y("train_examples:Q", title="training images", axis=alt.Axis(tickCount=5))
    return bars.encode(x=x, y=y, color=colour, tooltip=tooltip).properties(title=some)
