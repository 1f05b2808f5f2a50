"""Exemplars among the images that flip under corruption: whether their modal label changes on clean images, too."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from tfaudit.audits.exemplars.exemplars import changed_modes
from tfaudit.predictions import Predictions
from tfaudit.stats.multiplicity import adjust
from tfaudit.stats.proportions import compare_proportions
from tfaudit.stats.ratios import ratio

_COUNTS = ("examples", "flips", "pies", "pie_flips")


def flip_counts(
    clean: tuple[Predictions, Predictions], corrupted: tuple[Predictions, Predictions]
) -> dict[str, object]:
    """Count the `examples`, `flips`, clean exemplars `pies`, and `pie_flips`, which are both, under one condition.

    An image is a flip if the two modal labels differ under corruption, and an exemplar (PIE, [F] 2.3) if they differ on
    the clean image.

    `clean` holds the baseline and the compressed population on clean images, `corrupted` the two on the same images
    under corruption.

    Example:
        >>> before, after = Predictions.from_top1([0, 1, 1], [0, 1, 1]), Predictions.from_top1([0, 1, 1], [0, 1, 0])
        >>> flip_counts((before, after), (before, Predictions.from_top1([0, 1, 1], [0, 0, 0])))
        {'examples': 3, 'flips': 2, 'pies': 1, 'pie_flips': 1}
    """
    pie, flip = (changed_modes(before, after) for before, after in (clean, corrupted))
    counts = (len(pie), flip.sum(), pie.sum(), (pie & flip).sum())
    return dict(zip(_COUNTS, map(int, counts), strict=True))


def lost_first(
    clean: tuple[Predictions, Predictions], corrupted: tuple[Predictions, Predictions]
) -> np.ndarray:
    """Return `(N,)` booleans: both modes are right on the clean image, but only the baseline's under corruption.

    The arguments are those of `flip_counts`.

    Example:
        >>> right, wrong = (Predictions.from_top1([0, 1], predicted) for predicted in ([0, 1], [0, 0]))
        >>> lost_first((right, right), (right, wrong))
        array([False,  True])
    """
    before, after, corrupted_before, corrupted_after = (
        population.modal_classes().among_best(population.labels)
        for population in (*clean, *corrupted)
    )
    return (before == 1) & (after == 1) & (corrupted_before == 1) & (corrupted_after == 0)


def flip_table(counts: Sequence[dict[str, object]], alpha: float) -> pd.DataFrame:
    """Test whether exemplars are more frequent among the flips than among the other examples, one row per condition.

    Columns: `corruption`, `severity`, `examples`, `flips`, `pies`, `pie_flips` (counts), `pie_share` (exemplars among
    all), `flip_pie_share` (among flips), `ratio` of the two, `pie_flip_share` (flips among the exemplars), `low_pp` and
    `high_pp` (Newcombe's interval of the share among flips minus that among the others), `test`, `p` and `p_holm`, over
    all rows.

    `counts` are rows of `corruption`, `severity` and the result of `flip_counts`; intervals are at level 1 - alpha.

    Example:
        >>> row = {"corruption": "fog", "severity": 1, "examples": 100, "flips": 10, "pies": 5, "pie_flips": 4}
        >>> flip_table([row], 0.05)[["pie_share", "flip_pie_share", "ratio", "pie_flip_share"]]
           pie_share  flip_pie_share  ratio  pie_flip_share
        0       0.05             0.4    8.0             0.8
    """
    table = pd.DataFrame([*counts], columns=["corruption", "severity", *_COUNTS])
    table = table.astype(
        {"corruption": "object", "severity": "int64", **dict.fromkeys(_COUNTS, "int64")}
    )
    examples, flips, pies, both = (table[name].to_numpy() for name in _COUNTS)
    proportions = compare_proportions(
        both, flips, pies - both, examples - flips, confidence=1 - alpha
    )
    share = pies / examples
    return table.assign(
        pie_share=share,
        flip_pie_share=proportions.first,
        ratio=ratio(proportions.first, share),
        pie_flip_share=ratio(both, pies),
        low_pp=100 * proportions.low,
        high_pp=100 * proportions.high,
        test=proportions.test,
        p=proportions.p,
        p_holm=adjust(proportions.p, "holm"),
    )
