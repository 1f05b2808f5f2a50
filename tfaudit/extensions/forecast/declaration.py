"""How the audit presents itself to readers: question, source, charts, tables and findings."""

from collections.abc import Iterator

import numpy as np

from tfaudit.audits.declaration import Declaration, Table
from tfaudit.extensions.forecast.quality import ForecastQuality

CHANCE = 0.5
"""Separation of changed from unchanged predictions by numbers that tell nothing."""


def findings(title: str, result: ForecastQuality) -> Iterator[str]:
    """Yield whether the margins of the dense model have told which predictions change.

    Example:
        >>> from tfaudit.extensions.forecast.quality import forecast_quality
        >>> from tfaudit.predictions import Predictions
        >>> scores = np.linspace(0.51, 1, 100)
        >>> dense = Predictions.from_scores(np.zeros(100, int), np.stack([scores, 1 - scores], 1))
        >>> int8 = Predictions.from_top1(np.zeros(100, int), (np.arange(100) < 10).astype(int))
        >>> print(*findings("int8", forecast_quality(dense, int8)))
        int8: 100 % of the changed predictions are in the tenth with the smallest margins (95 %: 78 to 100 %).
    """
    if np.isnan(result.low):
        return
    tenth = result.frame().set_index("looked_share").loc[0.1]
    found, low, high = (100 * tenth[f"found_{end}"] for end in ("share", "low", "high"))
    share = f"{found:.0f} % of the changed predictions are in the tenth with the smallest margins"
    unknown = "" if result.low > CHANCE else "; margins do not tell which change"
    yield f"{title}: {share} ({result.level}: {low:.0f} to {high:.0f} %){unknown}."


FORECAST = Declaration(
    name="forecast",
    title="Forecast",
    question="Did the dense model show which examples would change?",
    method=(
        "Examples with a small margin between the two best classes before compression, "
        "and the predictions that have changed."
    ),
    part="Which examples",
    source="[De], intervals [C]",
    tables={
        "looked": Table(
            columns=("looked_share", "looked", "found_share", "found_low", "found_high"),
            catalogue="forecast",
        ),
    },
    findings=findings,
)
