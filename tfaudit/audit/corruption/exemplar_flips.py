"""Are the images that flip under corruption those that compression forgets anyway? Exemplars among flips."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from tfaudit.predictions import Predictions
from tfaudit.stats.multiplicity import adjust
from tfaudit.stats.proportions import compare_proportions

__all__ = ["flip_counts", "flip_table", "lost_first"]

_COUNTS = ("examples", "flips", "pies", "pie_flips")


def flip_counts(
    clean: tuple[Predictions, Predictions], corrupted: tuple[Predictions, Predictions]
) -> dict[str, object]:
    """Counts of one condition: `examples`, `flips`, clean exemplars `pies`, and `pie_flips` that are both.

    A flip is an example whose modal label differs between the two populations under corruption, as that of an exemplar
    (PIE, [F] 2.3) does on clean images.

    Args:
        clean: baseline and compressed population on clean images.
        corrupted: the two on the same images, corrupted.

    Example:
        >>> before, after = Predictions.from_top1([0, 1, 1], [0, 1, 1]), Predictions.from_top1([0, 1, 1], [0, 1, 0])
        >>> flip_counts((before, after), (before, Predictions.from_top1([0, 1, 1], [0, 0, 0])))
        {'examples': 3, 'flips': 2, 'pies': 1, 'pie_flips': 1}
    """
    pie, flip = (before.modal() != after.modal() for before, after in (clean, corrupted))
    counts = (len(pie), flip.sum(), pie.sum(), (pie & flip).sum())
    return dict(zip(_COUNTS, map(int, counts), strict=True))


def lost_first(clean: tuple[Predictions, Predictions], corrupted: tuple[Predictions, Predictions]) -> np.ndarray:
    """`(N,)` booleans: right on the clean image by both modes, and under corruption by the baseline's alone.

    Args:
        clean: baseline and compressed population on clean images.
        corrupted: the two on the same images, corrupted.

    Example:
        >>> right, wrong = (Predictions.from_top1([0, 1], answers) for answers in ([0, 1], [0, 0]))
        >>> lost_first((right, right), (right, wrong))
        array([False,  True])
    """
    first, second, third, fourth = (each.modal() == each.labels for each in (*clean, *corrupted))
    return first & second & third & ~fourth


def flip_table(counts: Sequence[dict[str, object]], alpha: float) -> pd.DataFrame:
    """Are exemplars more frequent among the flips than among the other examples? One row per condition.

    Columns: `corruption`, `severity`, `examples`, `flips`, `pies`, `pie_flips` (counts), `pie_share` (exemplars among
    all), `flip_pie_share` (among flips), `ratio` of the two, `pie_flip_share` (of the exemplars, how many flip),
    `low_pp` and `high_pp` (Newcombe's interval of the share among flips less that among the others), `test`, `p`
    and `p_holm`, over all rows.

    Args:
        counts: rows of `corruption`, `severity` and what `flip_counts` gives.
        alpha: intervals are at level 1 - alpha.

    Example:
        >>> row = {"corruption": "fog", "severity": 1, "examples": 100, "flips": 10, "pies": 5, "pie_flips": 4}
        >>> flip_table([row], 0.05)[["pie_share", "flip_pie_share", "ratio", "pie_flip_share"]]
           pie_share  flip_pie_share  ratio  pie_flip_share
        0       0.05             0.4    8.0             0.8
    """
    table = pd.DataFrame([*counts], columns=["corruption", "severity", *_COUNTS])
    table = table.astype({"corruption": "object", "severity": "int64", **dict.fromkeys(_COUNTS, "int64")})
    examples, flips, pies, both = (table[name].to_numpy() for name in _COUNTS)
    found = compare_proportions(both, flips, pies - both, examples - flips, confidence=1 - alpha)
    share = pies / examples
    return table.assign(
        pie_share=share,
        flip_pie_share=found.first,
        ratio=np.divide(found.first, share, out=np.full(len(table), np.nan), where=share > 0),
        pie_flip_share=np.divide(both, pies, out=np.full(len(table), np.nan), where=pies > 0),
        low_pp=100 * found.low,
        high_pp=100 * found.high,
        test=found.test,
        p=found.p,
        p_holm=adjust(found.p, "holm"),
    )
