"""Groups and individuals before and after compression."""

import altair as alt
import pandas as pd

from tfaudit.audits.groups.order import ALL_NAMED, largest_losses_first
from tfaudit.charts.sampling import sampled
from tfaudit.charts.style import (
    GAIN,
    GREY,
    HUES,
    LOSS,
    WIDTH,
    Drawing,
    before_after,
    categories,
    row_axis,
    square_axes,
    tooltips,
)
from tfaudit.stats.group_codes import LEAST_IMAGES

EXTREMES = 10  # named groups at each end if not all are named
SIDE = WIDTH - 80  # side of the square of individuals in pixels
CHANGE = ("change_pp", "change_low_pp", "change_high_pp", "change_p_holm")
LINKS = {"lost accuracy": LOSS, "gained accuracy": GAIN, "no change": GREY, "cannot tell": GREY}
COLOURED = 4  # maximum number of groups with colours among individuals


def groups_chart(
    table: pd.DataFrame, individuals: pd.DataFrame, fits: pd.DataFrame, name: str
) -> Drawing:
    """Draw the accuracy of every group before and after, with intervals, and below it the accuracy of any individuals.

    Groups that lost or gained accuracy, after correction, have a line between the two in the colour of the verdict.

    Args:
        table: `table` of a `Groups`.
        individuals: `individuals` of a `Groups`; may have no rows.
        fits: `fits` of a `Groups`.
        name: name of the column of groups.
    """
    chart = _dumbbells(table, name)
    if not len(individuals):
        return chart
    return alt.vconcat(chart, individuals_chart(individuals, fits, name), spacing=24).resolve_scale(
        color="independent"
    )


def _dumbbells(table: pd.DataFrame, name: str) -> Drawing:
    shown = largest_losses_first(table)
    title = f"{name}, the largest loss first"
    if len(table) > ALL_NAMED:
        enough = shown[shown["examples"] >= LEAST_IMAGES]
        with_images = ""
        if 2 * EXTREMES <= len(enough) < len(shown):
            shown = enough
            with_images = f" ({LEAST_IMAGES} examples or more)"
        ends = f"{EXTREMES} largest and {EXTREMES} smallest losses"
        title = f"{name}: {ends} of {len(shown)}{with_images}"
        shown = pd.concat([shown.head(EXTREMES), shown.tail(EXTREMES)])
    sides = [
        shown[["group", "examples", *CHANGE, "verdict"]].assign(
            when=when,
            accuracy=100 * shown[f"accuracy_{when}"],
            low=100 * shown[f"{when}_low"],
            high=100 * shown[f"{when}_high"],
        )
        for when in ("before", "after")
    ]
    y = row_axis(shown["group"], limit=110)
    base = alt.Chart(pd.concat(sides, ignore_index=True)).encode(y=y, color=before_after("when"))
    intervals = base.mark_rule(strokeWidth=4, opacity=0.35).encode(
        x=alt.X("low:Q"), x2=alt.X2("high:Q")
    )
    figures = tooltips(accuracy=".2f", **dict.fromkeys(CHANGE[:3], "+.2f"), change_p_holm=".2g")
    points = base.mark_circle(size=60, opacity=1).encode(
        x=alt.X("accuracy:Q", title="accuracy, %").scale(zero=False).axis(tickCount=5),
        tooltip=[*tooltips("group", "when", "examples"), *figures, *tooltips("verdict")],
    )
    spans = shown.assign(before=100 * shown["accuracy_before"], after=100 * shown["accuracy_after"])
    links = alt.Chart(spans, width=WIDTH - 80, height=alt.Step(20)).mark_rule(strokeWidth=2.5)
    links = links.encode(
        x=alt.X("before:Q", title="accuracy, %"),
        x2=alt.X2("after:Q"),
        y=y,
        color=categories("verdict", [*LINKS], [*LINKS.values()]).legend(None),
    )
    accuracies = alt.layer(intervals, points)
    return alt.layer(accuracies, links).resolve_scale(color="independent").properties(title=title)


def individuals_chart(individuals: pd.DataFrame, fits: pd.DataFrame, name: str) -> Drawing:
    """Draw [P] figure 1: accuracy after on before, a point per individual, a least-squares line per group.

    If there are more than 4,500 individuals, a seeded sample is drawn, and the title says so; the lines are fitted to
    all.

    Args:
        individuals: `individuals_frame` of a `Groups`.
        fits: `fits` of the same `Groups`.
        name: name of the column of groups.
    """
    shown = individuals.assign(
        before=100 * individuals["accuracy_before"], after=100 * individuals["accuracy_after"]
    )
    names = list(dict.fromkeys(shown["group"]))
    coloured = len(names) <= COLOURED
    hues = HUES[: len(names)] if coloured else [GREY] * len(names)
    colour = categories("group", names, hues, columns=2, labelLimit=112, symbolOpacity=1)
    x, y, equal = square_axes(shown)
    place = {"x": x, "y": y, "color": colour if coloured else colour.legend(None)}
    # Smaller groups are drawn last, so larger ones do not hide them.
    crowd = shown.groupby("group")["individual"].transform("size")
    drawn, some = sampled(shown, "")
    order = crowd.loc[drawn.index].sort_index().sort_values(ascending=False, kind="stable").index
    square = alt.Chart(shown.loc[order], width=SIDE, height=SIDE)
    tooltip = tooltips("individual", "group", "examples", before=".1f", after=".1f")
    points = square.mark_circle(size=35, opacity=0.6).encode(**place, tooltip=tooltip)
    ends = shown.groupby("group")["before"].agg(["min", "max"]).reset_index()
    lines = ends.melt("group", value_name="before").merge(fits, on="group")
    lines = lines.assign(after=100 * lines["intercept"] + lines["slope"] * lines["before"])
    lines = lines[["group", "before", "after"]].dropna()
    fitted = alt.Chart(lines).mark_line(strokeWidth=2.5, clip=True).encode(**place)
    title = f"{some}individuals by {name}; below the dashed line: worse after"
    return alt.layer(equal, points, fitted).properties(title=title)
