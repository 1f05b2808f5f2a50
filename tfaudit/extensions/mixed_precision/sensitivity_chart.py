"""Chart of the cost of int8 per layer."""

import altair as alt
import pandas as pd

from tfaudit.charts.style import GREY, LOSS, WIDTH, Drawing, row_axis, tooltips

NAMED = 30  # most layers in the chart; the most sensitive ones are shown


def sensitivity_chart(table: pd.DataFrame, plain: float, mode: str) -> Drawing:
    """Draw the negative flips of every layer, the most sensitive first; the dashed line marks plain int8.

    Args:
        table: table of a `QuantizationSensitivity`, one row per layer.
        plain: negative flips of the int8 file in which no layer is float.
        mode: "all_but_one" or "only_one", as in `quantization_sensitivity`.
    """
    shown = table.head(NAMED)
    some = f"the first {NAMED} of {len(table):,} layers; " if len(table) > NAMED else ""
    what = (
        "this layer in float, all others in int8"
        if mode == "all_but_one"
        else "only this layer in int8"
    )
    base = alt.Chart(shown, width=WIDTH - 60, height=alt.Step(18))
    figures = tooltips(
        change_pp="+.2f",
        change_low_pp="+.2f",
        change_high_pp="+.2f",
        worst_change_pp="+.1f",
    )
    bars = base.mark_bar(height=9, color=LOSS).encode(
        x=alt.X("negative_flips:Q", title="examples right before and wrong after"),
        y=row_axis(shown["layer"], limit=160),
        tooltip=[
            *tooltips("layer", "negative_flips", "positive_flips", "changed"),
            *figures,
            *tooltips("worst_class", "bytes"),
        ],
    )
    rule = (
        alt.Chart(pd.DataFrame({"plain": [plain]}))
        .mark_rule(color=GREY, strokeDash=[4, 4])
        .encode(x="plain:Q")
    )
    return alt.layer(rule, bars).properties(title=f"{some}{what}; dashes: plain int8")
