"""The sample of a human study: balanced, shuffled, blind: [F] 3.2 and appendix C."""

import dataclasses

import numpy as np
import pandas as pd

from tfaudit.audits.exemplars.exemplars import Exemplars
from tfaudit.errors import InputError, require


@dataclasses.dataclass(frozen=True)
class SurveySample:
    """The images that raters see, and the key that they must not see.

    Labels 2 and 3 differ for PIEs and agree for other images: a rater who knows this rule is no longer blind.

    `sheet` has one row per image in the order of the study: `example` (its position), `label_1` (true class), `label_2`
    (baseline mode), `label_3` (compressed mode). `key` has the same rows: `example`, `is_pie`. Join it to the answers
    after the study: `survey(answers.merge(sample.key, on="example"))`.
    """

    sheet: pd.DataFrame
    key: pd.DataFrame


def survey_sample(exemplars: Exemplars, n: int, *, seed: int) -> SurveySample:
    """Draw equal numbers of PIEs and other examples, without replacement, and shuffle them.

    Args:
        exemplars: result of `tfaudit.exemplars`.
        n: number of images, even; [F] uses 1,230 of both kinds.
        seed: seed of the draw; the same seed gives the same sheet.

    Raises:
        InputError: n is odd, below 2 or larger than the examples of either kind allow, or one kind has no examples.

    Example:
        >>> from tfaudit.audits.exemplars.exemplars import exemplars
        >>> from tfaudit.predictions import Predictions
        >>> before = Predictions.from_top1([0, 0, 1, 1], [0, 0, 1, 1])
        >>> after = Predictions.from_top1([0, 0, 1, 1], [0, 0, 1, 0])
        >>> sample = survey_sample(exemplars(before, after), 2, seed=1)
        >>> sample.sheet
           example label_1 label_2 label_3
        0        3       1       1       0
        1        1       0       0       0
        >>> sample.key["is_pie"].tolist()
        [True, False]
    """
    pies = exemplars.index
    others = np.setdiff1d(np.arange(len(exemplars.labels)), pies)
    most = 2 * min(len(pies), len(others))
    sizes = f"{len(pies)} PIEs and {len(others)} other examples"
    if not most:
        raise InputError("exemplars", sizes, "one or more of both, to draw a balanced sample")
    require(
        n >= 2 and n % 2 == 0 and n <= most,
        "n",
        n,
        f"an even number from 2 to {most} (there are {sizes})",
    )
    rng = np.random.default_rng(seed)
    drawn = np.concatenate([rng.choice(kind, n // 2, replace=False) for kind in (pies, others)])
    order = rng.permutation(drawn)
    names = exemplars.class_names
    sheet = {
        "example": order,
        "label_1": np.array(names, object)[exemplars.labels][order],
        "label_2": exemplars.baseline_mode.names(names)[order],
        "label_3": exemplars.compressed_mode.names(names)[order],
    }
    key = {"example": order, "is_pie": np.isin(order, pies)}
    return SurveySample(pd.DataFrame(sheet), pd.DataFrame(key))
