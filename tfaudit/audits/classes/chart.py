"""Change of recall per class."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import altair as alt
import pandas as pd

from tfaudit.charts.style import (
    BETTER,
    GAIN,
    LOSS,
    SLATE,
    WIDTH,
    WORSE,
    Drawing,
    categories,
    distinct_names,
    light,
    row_axis,
    tooltips,
)

Layers: TypeAlias = alt.LayerChart | alt.FacetChart

ALL_NAMED = 40
"""Maximum number of classes that each have a line and a name."""

STEP = 18  # height of a line in pixels

EXTREMES = 12  # named classes at each end if not all are named

CANNOT_TELL, COLLAPSED = "cannot tell", "collapsed"


@dataclasses.dataclass(frozen=True)
class ClassQuestion:
    """One of the two questions about a class, which a chart never mixes.

    Attributes:
        title: title of the axis.
        verdict: name of the column of verdicts.
        colours: colours by verdict, for verdicts that are claims: a loss, a gain, no change.
    """

    title: str
    verdict: str
    colours: Mapping[str, str]

    def kinds(self) -> dict[str, str]:
        """Return the colours of all kinds of bars.

        A class without a claim has the faint colour of its direction, unless it collapsed: then that of a loss.
        """
        loss, gain, _ = self.colours.values()
        return {
            **self.colours,
            COLLAPSED: loss,
            f"{CANNOT_TELL}, lower": light(loss),
            f"{CANNOT_TELL}, higher": light(gain),
        }


QUESTIONS: Mapping[str, ClassQuestion] = {
    "change": ClassQuestion(
        "change of recall, percentage points",
        "verdict",
        {"lost recall": LOSS, "gained recall": GAIN, "no change": SLATE},
    ),
    "relative": ClassQuestion(
        "change of recall minus change of accuracy, points",
        "relative_verdict",
        {"worse than average": WORSE, "better than average": BETTER, "as average": SLATE},
    ),
}
"""Verdicts by the prefix of their columns: has a class lost recall, and is it disproportionately affected?"""


def class_impact_chart(frame: pd.DataFrame, question: str = "change") -> Drawing:
    """Draw the change of every class with its interval, the largest loss first.

    If there are more than 40 classes, an overview of all stands above the 12 that lost most and the 12 that lost least.

    Args:
        frame: `frame` of a `ClassImpact`.
        question: one of `QUESTIONS`, "change" (the default) or "relative".
    """
    ranked = ranked_classes(frame, question=question)
    return with_overview(
        ranked,
        lambda rows: all_classes(rows, question=question),
        lambda rows: named_classes(rows, question=question),
    )


def with_overview(
    ranked: pd.DataFrame,
    overview: Callable[[pd.DataFrame], Drawing],
    named: Callable[[pd.DataFrame], Drawing],
) -> Drawing:
    """Draw every class with its name, or an overview of more than 40 classes above the 12 at each end.

    Args:
        ranked: one row per class, in order.
        overview: function that draws all rows without names.
        named: function that draws rows with their names.
    """
    if len(ranked) <= ALL_NAMED:
        return named(ranked)
    ends = named(pd.concat([ranked.head(EXTREMES), ranked.tail(EXTREMES)]))
    title = f"the {EXTREMES} lowest and the {EXTREMES} highest of {len(ranked):,} classes"
    return alt.vconcat(overview(ranked), ends.properties(title=title), spacing=24)


def ranked_classes(
    frame: pd.DataFrame, by: str = "", *, ascending: bool = True, question: str = "change"
) -> pd.DataFrame:
    """Sort the classes that have images for the charts of classes.

    Adds `kind` (of the bar), `name` (distinct), `position` (of the class) and `rank` (from 1).

    Args:
        frame: `frame` of a `ClassImpact`.
        by: column to sort by; the change by default.
        ascending: whether the lowest values come first, True by default.
        question: one of `QUESTIONS`, "change" (the default) or "relative".

    Example:
        >>> frame = pd.DataFrame({"class": ["cat", "owl", "owl"], "change_pp": [1, -2, None],
        ...                       "verdict": ["cannot tell", "lost recall", "cannot tell"]})
        >>> ranked_classes(frame)[["name", "kind", "position", "rank"]]
              name                 kind  position  rank
        0      owl          lost recall         1     1
        1      cat  cannot tell, higher         0     2
    """
    value = f"{question}_pp"
    shown = frame.dropna(subset=[value]).copy()
    direction = shown[value].lt(0).map({True: "lower", False: "higher"})
    verdict = shown[QUESTIONS[question].verdict]
    unclear = f"{CANNOT_TELL}, " + direction
    if question == "change" and COLLAPSED in shown:
        unclear = unclear.mask(shown[COLLAPSED].astype(bool), COLLAPSED)
    shown["kind"] = verdict.where(verdict != CANNOT_TELL, unclear)
    shown = shown.assign(name=distinct_names(shown["class"]), position=shown.index)
    shown = shown.sort_values(by or value, ascending=ascending, kind="stable").reset_index(
        drop=True
    )
    return shown.assign(rank=shown.index + 1)


def _colours(ranked: pd.DataFrame, question: str, columns: int) -> alt.Color:
    """Return the colours of the kinds that occur, with a legend of them."""
    kinds = {
        kind: colour
        for kind, colour in QUESTIONS[question].kinds().items()
        if kind in set(ranked["kind"])
    }
    squares = {"symbolType": "square", "symbolStrokeWidth": 0}
    return categories(
        "kind", list(kinds), list(kinds.values()), labelLimit=200, columns=columns, **squares
    )


def class_tooltip(ranked: pd.DataFrame, question: str = "change") -> list[alt.Tooltip]:
    """Return the tooltip of a class, from the columns that the rows have."""
    points = [f"{question}{end}_pp" for end in ("", "_low", "_high")]
    figures = tooltips(
        **dict.fromkeys(("recall_before", "recall_after", "lowest_recall"), ".1%"),
        **dict.fromkeys(points, "+.2f"),
        **dict.fromkeys((f"{question}_p", f"{question}_p_holm"), ".2g"),
    )
    texts = [
        alt.Tooltip(name) for name in ("class:N", "examples:Q", f"{QUESTIONS[question].verdict}:N")
    ]
    return tooltips_of([*texts, *figures], list(map(str, ranked)))


def tooltips_of(tooltips: Sequence[alt.Tooltip], columns: Sequence[str]) -> list[alt.Tooltip]:
    """Return the tooltips of some columns, for overviews of many rows.

    Example:
        >>> len(tooltips_of([alt.Tooltip("class:N"), alt.Tooltip("p:Q", format=".2g")], ["p", "rank"]))
        1
    """
    return [tooltip for tooltip in tooltips if tooltip.shorthand.split(":")[0] in columns]


def named_classes(
    ranked: pd.DataFrame, *, columns: int = 3, question: str = "change", step: int = STEP
) -> Layers:
    """Draw one line per class with its name, in the order of the rows: a bar, its interval, and a mark if it collapsed.

    Args:
        ranked: rows that `ranked_classes` returns.
        columns: number of columns of the legend, 3 by default.
        question: one of `QUESTIONS`, "change" (the default) or "relative".
        step: height of a line in pixels.
    """
    base = alt.Chart(ranked, width=WIDTH, height=alt.Step(step))
    y = row_axis(ranked["name"], limit=130)
    x = alt.X(f"{question}_pp:Q", title=QUESTIONS[question].title, axis=alt.Axis(tickCount=6))
    bars = base.mark_bar(height=step - 7)
    bars = bars.encode(
        x=x, y=y, color=_colours(ranked, question, columns), tooltip=class_tooltip(ranked, question)
    )
    intervals = base.mark_rule(strokeWidth=1.4, opacity=0.75)
    intervals = intervals.encode(
        x=alt.X(f"{question}_low_pp:Q"), x2=alt.X2(f"{question}_high_pp"), y=y
    )
    layers = [bars, intervals]
    if question == "change" and "collapsed" in ranked and ranked["collapsed"].any():
        # Right of the interval, which would strike the words through.
        ends = base.transform_filter("datum.collapsed").transform_calculate(
            end="max(0, datum.change_high_pp)"
        )
        collapsed = ends.mark_text(align="left", dx=5, fontSize=11)
        layers.append(collapsed.encode(x=alt.X("end:Q"), y=y, text=alt.TextValue("← collapsed")))
    return alt.layer(*layers)


def all_classes(
    ranked: pd.DataFrame, order: str = "", *, columns: int = 3, question: str = "change"
) -> Layers:
    """Draw all classes side by side, without names.

    The data hold only the columns that are drawn, and only the chart as a whole has a description for screen readers:
    with a thousand classes, each column and each description of a mark costs the browser time.

    Args:
        ranked: rows that `ranked_classes` returns.
        order: what the classes are sorted by, for the title of the axis; the change by default.
        columns: number of columns of the legend, 3 by default.
        question: one of `QUESTIONS`, "change" (the default) or "relative".
    """
    value, low, high = (f"{question}{end}_pp" for end in ("", "_low", "_high"))
    base = alt.Chart(
        ranked[["rank", "kind", "class", value, low, high]], width=WIDTH + 100, height=150
    )
    title = f"classes, by {order or ('change of recall' if question == 'change' else 'relative change')}"
    x = alt.X("rank:Q", title=title, scale=alt.Scale(nice=False), axis=alt.Axis(grid=False))
    width = max(0.6, 0.7 * WIDTH / len(ranked))
    bars = base.mark_bar(size=width, aria=False).encode(
        x=x,
        y=alt.Y(f"{value}:Q", title="points"),
        y2=alt.Y2Datum(0),
        color=_colours(ranked, question, columns),
        tooltip=class_tooltip(ranked[["class", value, low, high]], question),
    )
    intervals = base.mark_rule(strokeWidth=min(width, 1.2), opacity=0.35, aria=False).encode(
        x=x, y=alt.Y(f"{low}:Q"), y2=alt.Y2(high)
    )
    return alt.layer(intervals, bars)


def recall_before(field: str) -> alt.Color:
    """Return the colours of classes by their recall before compression, in percent."""
    scale = alt.Scale(scheme="viridis", zero=False)
    legend = alt.Legend(orient="top", gradientLength=110)
    return alt.Color(f"{field}:Q", title="recall before, %", scale=scale, legend=legend)
