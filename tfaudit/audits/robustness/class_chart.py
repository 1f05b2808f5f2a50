"""Change of recall by class and corruption."""

import altair as alt
import pandas as pd

from tfaudit.audits.classes.chart import QUESTIONS
from tfaudit.audits.classes.heat_map import SHOWN, class_heat_map
from tfaudit.audits.robustness.chart import WORDS
from tfaudit.charts.style import Drawing, distinct_names, tooltips

FIGURES = dict.fromkeys(("change_pp", "change_low_pp", "change_high_pp", "relative_pp"), "+.2f")


def class_corruption_chart(
    cells: pd.DataFrame, *, reach: float | None = None, most: int = SHOWN
) -> Drawing:
    """Draw a heat map of the changes of recall; a dot marks cells whose verdict is a claim.

    Verdicts are corrected after Holm over all cells, shown or not.

    Args:
        cells: `class_frame` of a `Robustness`.
        reach: change at the ends of the scale, percentage points; the largest change by default.
        most: maximum number of classes, those whose recall changes most under any corruption.
    """
    columns = ["class", "corruption", "value", *FIGURES, "verdict", "relative_verdict"]
    measured = cells.assign(
        value=cells["change_pp"], **{"class": distinct_class_names(cells)}
    ).dropna(subset=["value"])[columns]
    across = alt.Axis(labelAngle=-50, labelLimit=110, orient="bottom", labelExpr=WORDS)
    corruptions = list(dict.fromkeys(measured["corruption"]))
    return class_heat_map(
        measured,
        alt.X("corruption:N", sort=corruptions, title=None, axis=across),
        [
            *tooltips("class", "corruption", **FIGURES),
            *tooltips("verdict", "relative_verdict"),
        ],
        QUESTIONS["change"],
        value="value",
        reach=largest_change(cells) if reach is None else reach,
        most=most,
    )


def largest_change(cells: pd.DataFrame) -> float:
    """Return the largest absolute change in percentage points; 1 if nothing changes.

    Args:
        cells: `class_frame` of a `Robustness`.

    Example:
        >>> largest_change(pd.DataFrame({"change_pp": [-3.0, float("nan")]}))
        3.0
    """
    largest = float(cells["change_pp"].abs().max())
    return largest if largest > 0 else 1.0


def distinct_class_names(cells: pd.DataFrame) -> pd.Series:
    """Return the class of every cell under a distinct name: repeated names have their position added.

    Args:
        cells: `class_frame` of a `Robustness`.

    Example:
        >>> cells = pd.DataFrame({"corruption": ["fog"] * 3, "class": ["crane", "dog", "crane"]})
        >>> distinct_class_names(cells).to_list()
        ['crane (0)', 'dog', 'crane (2)']
    """
    by_corruption = cells.groupby("corruption", sort=False)["class"]
    return by_corruption.transform(
        lambda classes: distinct_names(classes.reset_index(drop=True)).to_numpy()
    )
