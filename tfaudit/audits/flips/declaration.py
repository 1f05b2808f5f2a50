"""How the audit presents itself to readers: question, source, charts, tables and findings."""

from collections.abc import Hashable, Iterator, Mapping
from typing import Any

import pandas as pd

from tfaudit.audits.declaration import Declaration, Table
from tfaudit.audits.flips.image_changes import NEWLY_WRONG
from tfaudit.audits.flips.negative_flips import MORE, NegativeFlips
from tfaudit.errors import listed
from tfaudit.runtime.names import class_in_words


def rate_findings(title: str, result: NegativeFlips) -> Iterator[str]:
    """Yield how many images are newly wrong, whether training again explains them, and which classes have more.

    Example:
        >>> from tfaudit.audits.flips.negative_flips import flip_rates
        >>> from tfaudit.predictions import Predictions
        >>> sides = ([[0, 0, 1, 1], [0, 0, 1, 0]], [[0, 1, 1, 1], [0, 1, 1, 0]])
        >>> pair = [Predictions.from_top1([0, 0, 1, 1], top1) for top1 in sides]
        >>> print(*rate_findings("int8", flip_rates(*pair, paired=True)))
        int8: 25.0 % of the examples are right before and wrong after (0.0 to 100.0 %); training again gives 12.5 %.
    """
    whole, *classes = result.frame().to_dict("records")
    share, low, high = (100 * whole[f"negative_{end}"] for end in ("share", "low", "high"))
    rate = f"{share:.1f} % of the examples are right before and wrong after ({low:.1f} to {high:.1f} %)"
    hit = [class_in_words(row["class"]) for row in classes if row["verdict"] == MORE]
    more = f" More than the average in {listed(hit)}." if hit else ""
    yield f"{title}: {rate}{_against_retraining(whole, result.alpha)}.{more}"


def _against_retraining(whole: Mapping[Hashable, Any], alpha: float) -> str:
    """Return the rate that training again gives, and whether the excess over it may be chance."""
    if pd.isna(whole["retrained_share"]):
        return ""
    again = f"; training again gives {100 * whole['retrained_share']:.1f} %"
    if pd.isna(whole["excess_p"]):
        return again
    points = f"({whole['excess_low_pp']:+.1f} to {whole['excess_high_pp']:+.1f} points)"
    if whole["excess_p"] > alpha:
        return f"{again}, and the difference may be chance {points}"
    return f"{again}, {'less' if whole['excess_pp'] > 0 else 'more'} than compression {points}"


NEGATIVE_FLIPS = Declaration(
    name="negative_flips",
    title="Negative flips",
    question="How often does compression turn a right prediction wrong?",
    method=("In every class, beside how often training the same model again would do so."),
    source="[Y], intervals [C]",
    tables={
        "classes": Table(
            columns=(
                "class",
                "negative_share",
                "negative_low",
                "negative_high",
                "retrained_share",
                "excess_pp",
                "excess_p_holm",
                "relative_pp",
                "relative_p_holm",
                "verdict",
                "positive_share",
                "examples",
            ),
            catalogue="negative_flips",
        ),
    },
    findings=rate_findings,
    images=NEWLY_WRONG,
)
