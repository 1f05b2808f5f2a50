"""Counts expected by chance, and the observed ones."""

import altair as alt
import pandas as pd

from tfaudit.charts.style import GREY, PLUM, WIDTH, Drawing, tooltips

BINS = 40  # bars at most; with more values, a bar holds several


def chance_chart(frame: pd.DataFrame, distribution: pd.DataFrame) -> Drawing:
    """Draw a panel per count: a grey histogram over the permutations, a plum line at the observed count.

    Counts with a single value in all permutations are left out, unless no other is left: words say more.

    Args:
        frame: `frame` of a `Chance`.
        distribution: `distribution` of the same `Chance`.
    """
    varied = distribution.groupby("count")["value"].transform("nunique") > 1
    shown = frame[frame["count"].isin(distribution["count"][varied])] if varied.any() else frame
    return alt.vconcat(*(_panel(row, distribution) for row in shown.to_dict("records")), spacing=28)


def _panel(row: dict, distribution: pd.DataFrame) -> Drawing:
    null = distribution[distribution["count"] == row["count"]]
    span = max(null["value"].max(), row["observed"]) - null["value"].min()
    step = max(1, -(-int(span) // BINS))
    bars = (
        null.assign(start=null["value"] // step * step)
        .groupby("start", as_index=False)["share"]
        .sum()
    )
    bars["low"], bars["high"] = bars["start"] - 0.5, bars["start"] + step - 0.5
    bars["percent"] = 100 * bars["share"]
    observed = pd.DataFrame({"observed": [row["observed"]]})
    expected = format(row["expected"], ",.3g" if row["expected"] < 999 else ",.0f")  # not 1.03e+03
    heading = f"{row['count']}: {row['observed']:,} observed, {expected} by chance, "
    heading += f"p {'=' if row['p'] >= 0.001 else '<'} {max(row['p'], 0.001):.2g}"
    axis = alt.Axis(tickMinStep=1, tickCount=6, labelOverlap=True, grid=False)
    x = alt.X(
        "low:Q", title=row["count"], scale=alt.Scale(zero=False, nice=False, padding=6), axis=axis
    )
    y = alt.Y("percent:Q", title="permutations, %", axis=alt.Axis(tickCount=4))
    tooltip = [alt.Tooltip("start:Q", title="from"), *tooltips(percent=".1f")]
    histogram = alt.Chart(bars).mark_bar(color=GREY, stroke=None)
    histogram = histogram.encode(x=x, x2=alt.X2("high:Q"), y=y, y2=alt.Y2Datum(0), tooltip=tooltip)
    line = (
        alt.Chart(observed)
        .mark_rule(color=PLUM, strokeWidth=2.5)
        .encode(x=alt.X("observed:Q"), tooltip=tooltips("observed:Q"))
    )
    return alt.layer(histogram, line).properties(width=WIDTH, height=110, title=heading)
