"""Colours, sizes and encodings that the charts share."""

from collections.abc import Sequence
from typing import Any, TypeAlias

import altair as alt
import pandas as pd

Drawing: TypeAlias = (
    alt.Chart
    | alt.LayerChart
    | alt.FacetChart
    | alt.ConcatChart
    | alt.VConcatChart
    | alt.HConcatChart
)

LOSS, GAIN = "#c8452f", "#1a7fb5"
"""What is lost or wrong, and what is gained or right, in charts, report and viewer.

Like the colours below they contrast by 3 to 1 or more with white and with dark pages; readers with any colour vision
can tell the two of a pair apart.
"""

WORSE, BETTER = "#b8740a", "#7a63c4"
"""What loses more, and less, than the average: another question than lost or gained, and other hues."""

SLATE, PALE, INK = "#7d8492", "#e8e8ea", "#26282e"
"""No change, and the baseline among variants; no change on a diverging scale; marks on such a scale."""

PLUM, GREY, GREEN, BLUE, AMBER = "#9c5394", "#a9aeb8", "#1aa37c", "#4a7fc1", "#d07c00"
"""Colours without a judgement: plum is the accent of the pages and the compressed population."""

PIE_LABELS = (
    "datum.label == 'PIE' ? 'changed (PIEs)' : datum.label == 'non-PIE' ? 'others' : datum.label"
)
"""Labels of a legend of PIEs and other images, as an expression of Vega."""

LIGHT = 0.4
"""Opacity of a loss or gain that the data do not establish."""

WRONG = (LOSS, AMBER, PLUM, "#c76b8f", "#8a8f2c")
"""The wrong predictions, those with most votes first."""

HUES = (BLUE, AMBER, GREEN, PLUM, "#c2604f", "#2f9bb3", "#8a8f2c", "#7a6bd1", "#b0764a", "#d1679f")
"""Variants side by side, in this order."""

WIDTH = 340
"""Pixels of a chart in half a page."""

DASHES = [4, 4]
"""Pixels of the dashes of a line that others are compared with, and of the gaps between them."""


def row_axis(names: pd.Series, *, limit: int) -> alt.Y:
    """Return an axis with a row for each distinct name, in the given order, without omissions.

    Args:
        names: names of the rows, the column of the data or a series named after it.
        limit: pixels beyond which a name is truncated.

    Example:
        >>> row_axis(pd.Series(["dog", "cat", "dog"], name="class"), limit=130).to_dict()["sort"]
        ['dog', 'cat']
    """
    # Streamlit flushes labels by default.
    axis = alt.Axis(labelLimit=limit, labelPadding=6, labelOverlap=False, labelFlush=False)
    return alt.Y(f"{names.name}:N", sort=list(dict.fromkeys(names)), title=None, axis=axis)


def before_after(field: str) -> alt.Color:
    """Return grey for "before" and plum for "after" in a field, with a legend above the chart.

    Example:
        >>> before_after("when").to_dict()["scale"]["domain"]
        ['before', 'after']
    """
    return categories(field, ["before", "after"], [SLATE, PLUM], symbolOpacity=1)


def categories(
    field: str, names: Sequence[str], colours: Sequence[str], **legend: Any
) -> alt.Color:
    """Return the colours of named categories, with a legend above the chart.

    Args:
        field: column of the categories.
        names: names of the categories, in the order of the legend.
        colours: colours, one per name.
        **legend: further settings of `alt.Legend`.

    Example:
        >>> categories("kind", ["lost", "won"], [LOSS, GAIN]).to_dict()["legend"]
        {'orient': 'top'}
    """
    scale = alt.Scale(domain=list(names), range=list(colours))
    return alt.Color(
        f"{field}:N", title=None, scale=scale, legend=alt.Legend(orient="top", **legend)
    )


def light(colour: str) -> str:
    """Return the faint form of a colour, for results that the data do not establish.

    Example:
        >>> light("#c8452f")
        'rgba(200,69,47,0.4)'
    """
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},{LIGHT})"


def tooltips(*columns: str, **formats: str) -> list[alt.Tooltip]:
    """Return tooltips for columns, then for numeric columns, which are given by name and format of their numbers.

    All charts pass channels as objects: for each channel given as text, Altair reads a table of all its schemas.

    Example:
        >>> [tooltip.to_dict() for tooltip in tooltips("class:N", p=".2g")]
        [{'field': 'class', 'type': 'nominal'}, {'field': 'p', 'format': '.2g', 'type': 'quantitative'}]
    """
    return [
        *map(alt.Tooltip, columns),
        *(alt.Tooltip(f"{name}:Q", format=form) for name, form in formats.items()),
    ]


def distinct_names(classes: pd.Series) -> pd.Series:
    """Return the names of classes, with the index in brackets if several classes share a name.

    Example:
        >>> distinct_names(pd.Series(["crane", "dog", "crane"])).to_list()
        ['crane (0)', 'dog', 'crane (2)']
    """
    repeated = classes.duplicated(keep=False)
    return classes.where(~repeated, classes + " (" + classes.index.astype(str) + ")")


BEFORE = alt.X("before:Q", title="accuracy before, %")
AFTER = alt.Y("after:Q", title="accuracy after, %")


def square_axes(
    rows: pd.DataFrame,
    x: alt.X = BEFORE,
    y: alt.Y = AFTER,
) -> tuple[alt.X, alt.Y, alt.Chart]:
    """Return two axes of percentages with one scale, and the dashed line on which they are equal.

    Args:
        rows: data frame with the columns of both axes, in percent.
        x: horizontal axis; accuracy in the column `before` by default.
        y: vertical axis; accuracy in the column `after` by default.
    """
    fields = [field_of(x), field_of(y)]
    low = max(0.0, rows[fields].min().min() - 2)  # a single accuracy still needs a range
    scale = alt.Scale(domain=[low, 101], nice=False)
    x, y = x.scale(scale).axis(tickCount=5), y.scale(scale).axis(tickCount=5)
    return x, y, diagonal(x, y, low, 100)


def diagonal(x: alt.X, y: alt.Y, low: float, high: float) -> alt.Chart:
    """Return the dashed line on which both axes have the same value, from `low` to `high`."""
    ends = pd.DataFrame({field_of(axis): [low, high] for axis in (x, y)})
    return alt.Chart(ends).mark_line(color=GREY, strokeDash=DASHES, strokeWidth=1).encode(x=x, y=y)


def dashed_rule(base: alt.Chart, width: float = 1, **place: Any) -> alt.Chart:
    """Return the dashed line at a value that others are compared with: a limit, a mean, no difference."""
    return base.mark_rule(color=GREY, strokeDash=DASHES, strokeWidth=width).encode(**place)


def field_of(channel: alt.X | alt.Y | alt.Color | alt.Shape) -> str:
    """Return the column that a channel shows.

    Example:
        >>> field_of(alt.X("accuracy:Q"))
        'accuracy'
    """
    return str(channel.shorthand).split(":")[0]


def member_dots(base: alt.Chart, x: alt.X, y: alt.Y, tooltip: list[alt.Tooltip]) -> list[alt.Chart]:
    """Return a dot per member and a bar at their mean."""
    dots = base.mark_circle(size=55, opacity=0.7, color=SLATE).encode(x=x, y=y, tooltip=tooltip)
    means = base.mark_tick(color=PLUM, thickness=3, size=18).encode(x=x.aggregate("mean"), y=y)
    return [dots, means]
