"""Changes of recall by class and variant."""

import altair as alt
import pandas as pd

from tfaudit.audits.classes.chart import QUESTIONS
from tfaudit.audits.classes.heat_map import class_heat_map
from tfaudit.charts.style import Drawing, tooltips


def claims_chart(cells: pd.DataFrame) -> Drawing:
    """Draw a heat map of the changes of recall by class and variant; a dot marks a verdict that is a claim.

    Args:
        cells: `cells` of a `Claims`.
    """
    titles = list(dict.fromkeys(cells["title"]))
    axis = alt.Axis(labelAngle=-50, labelLimit=130)
    largest = cells["change_pp"].abs().max()
    points = dict.fromkeys(("change_pp", "change_low_pp", "change_high_pp"), "+.2f")
    return class_heat_map(
        cells,
        alt.X("title:N", sort=titles, title=None, axis=axis),
        [*tooltips("class", "title", **points, p_holm_all=".2g"), alt.Tooltip("verdict")],
        QUESTIONS["change"],
        value="change_pp",
        reach=largest if largest > 0 else 1.0,
    )
