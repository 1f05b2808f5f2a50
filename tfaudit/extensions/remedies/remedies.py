"""Effects of remedies: compressed models trained with a remedy against the control, trained without it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from tfaudit.audits.exemplars.exemplars import changed_modes
from tfaudit.audits.result import Drawing, Result
from tfaudit.errors import require, require_level
from tfaudit.predictions import Predictions, require_same_examples
from tfaudit.stats.changes import mean_change
from tfaudit.stats.multiplicity import adjust
from tfaudit.stats.t_tests import paired_test

LARGEST_GAP = "largest excess gap"

MEASURES = ("accuracy", "worst-class recall", LARGEST_GAP, "negative flips", "PIEs")
"""Compared measures: for the first two more is better, for the others less."""

BETTER, WORSE, CANNOT_TELL = "better", "worse", "cannot tell"

Trio = tuple[Predictions, Predictions, Predictions]
"""Dense models, those compressed without the remedy and those with it."""


@dataclasses.dataclass(frozen=True)
class Remedies(Result):
    """Control against remedy, for every compressed variant that has both.

    Attributes:
        table: one row per variant and measure; see `frame`.
        alpha: level of the tests; intervals are at level 1 - alpha.
        notes: caveats for the reader, one sentence each.
    """

    table: pd.DataFrame
    alpha: float
    notes: tuple[str, ...] = ()

    def frame(self) -> pd.DataFrame:
        """Return one row per variant and measure, all in percent of the images.

        Columns: `title` of the variant with the remedy; `measure`, one of `MEASURES`; `members`, the number of pairs;
        `control` and `remedy`, means over them; `difference_pp`, remedy minus control, with `low_pp`, `high_pp` and `p`
        (NaN for a single pair); `p_holm`, corrected over all rows; `verdict` on the remedy.
        """
        return self.table.copy()

    def summary(self) -> dict[str, Any]:
        """Return the number of comparisons, and of those in which the remedy is better and worse."""
        verdicts = self.table["verdict"]
        return {
            "tested": len(verdicts),
            "better": int((verdicts == BETTER).sum()),
            "worse": int((verdicts == WORSE).sum()),
        }

    def chart(self) -> Drawing:
        """Draw a panel per measure: the difference of every remedy from its control, with its interval."""
        from tfaudit.extensions.remedies.chart import remedies_chart

        return remedies_chart(self.table)


def remedies(
    trios: Mapping[str, Trio],
    *,
    alpha: float = 0.05,
) -> Remedies:
    """Compare models that were trained with a remedy to their controls, pair by pair from the same dense model.

    Accuracy, negative flips and PIEs (images whose modal label differs from the dense models') are means over images;
    their intervals and tests are over images and members, those of PIEs over images alone. A member's worst-class
    recall is the recall of its own worst class. Its largest excess gap is the largest
    `(dense_c - member_c) - (dense - member)` over classes c. Neither of these is a mean over images, so they
    have a paired t-test over members, for these images.

    Args:
        trios: dense population, control and remedied population by title, on the same examples. Members of the same
            name belong together; others are left out.
        alpha: level of the tests, in (0, 1).

    Raises:
        InputError: different examples, no common members, or a level outside (0, 1).

    Example:
        >>> dense = Predictions.from_top1([0, 0, 1, 1], [[0, 0, 1, 1], [0, 0, 1, 1]])
        >>> control = Predictions.from_top1([0, 0, 1, 1], [[0, 1, 1, 1], [0, 1, 0, 1]])
        >>> remedied = Predictions.from_top1([0, 0, 1, 1], [[0, 0, 1, 1], [0, 0, 0, 1]])
        >>> remedies({"with a remedy": (dense, control, remedied)}).frame()[["measure", "control", "remedy"]]
                      measure  control  remedy
        0            accuracy    0.625   0.875
        1  worst-class recall    0.500   0.750
        2  largest excess gap    0.125   0.125
        3      negative flips    0.375   0.125
        4                PIEs    0.250   0.000
    """
    require_level("alpha", alpha)
    notes = [
        "Intervals of worst-class recall and of the largest excess gap are over members, for these examples."
    ]
    rows = [_rows(title, *trio, alpha) for title, trio in trios.items()]
    table = pd.concat(rows, ignore_index=True)
    table["p_holm"] = adjust(table["p"].to_numpy(), "holm")
    sign = np.where(table["measure"].isin(MEASURES[:2]), 1, -1) * table["difference_pp"]
    verdict = np.where(sign > 0, BETTER, WORSE)
    table["verdict"] = np.where(table["p_holm"] <= alpha, verdict, CANNOT_TELL)
    if (table["members"] == 1).any():
        notes.append(
            "A single pair of models has intervals over examples alone, and no interval for the worst class."
        )
    return Remedies(table, alpha, tuple(notes))


def _rows(
    title: str,
    dense: Predictions,
    control: Predictions,
    remedied: Predictions,
    alpha: float,
) -> pd.DataFrame:
    require_same_examples(dense, control)
    require_same_examples(dense, remedied)
    common = [m for m in dense.members if m in set(control.members) & set(remedied.members)]
    require(
        bool(common), "members", f"none in common for {title!r}", "members of the same dense models"
    )
    dense, control, remedied = (
        _chosen(population, common) for population in (dense, control, remedied)
    )
    before, *sides = (population.correct() for population in (dense, control, remedied))
    lost = [np.maximum(before - right, 0) for right in sides]
    moved = [changed_modes(dense, population)[None] for population in (control, remedied)]
    over_images = {"accuracy": sides, "negative flips": lost, "PIEs": moved}
    recalls = [_recalls(right, dense.labels) for right in sides]
    gaps = [_largest_gaps(before, right, dense.labels) for right in sides]
    over_members = {"worst-class recall": [own.min(1) for own in recalls], LARGEST_GAP: gaps}
    rows = []
    for measure in MEASURES:
        low = high = p = np.array([np.nan])
        if measure in over_images:
            first, second = (values.astype(float) for values in over_images[measure])
            change = mean_change(first, second, paired=True, clusters=dense.clusters)
            (low, high), p = change.interval(1 - alpha, most=1), change.p()
        else:
            first, second = over_members[measure]
            if len(common) > 1:
                test = paired_test(second[:, None], first[:, None], confidence=1 - alpha)
                (low, high), p = np.clip((test.low, test.high), -1, 1), test.p
        row = {
            "title": title,
            "measure": measure,
            "members": len(common),
            "control": first.mean(),
            "remedy": second.mean(),
            "difference_pp": 100 * (second.mean() - first.mean()),
            "low_pp": 100 * low[0],
            "high_pp": 100 * high[0],
            "p": p[0],
        }
        rows.append(row)
    return pd.DataFrame(rows)


def _chosen(population: Predictions, members: list[Any]) -> Predictions:
    """Return the predictions of some members."""
    ranked = [population.member(population.members.index(member)) for member in members]
    return Predictions.from_ranked(
        population.labels,
        ranked,
        class_names=population.class_names,
        clusters=population.clusters,
    )


def _recalls(right: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return the recalls `(K, C)` of the classes that have examples."""
    return np.stack([right[:, labels == label].mean(1) for label in np.unique(labels)], axis=1)


def _largest_gaps(before: np.ndarray, after: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return the largest excess gap of each pair of models, `(K,)`."""
    losses = _recalls(before, labels) - _recalls(after, labels)
    return (losses - (before.mean(1) - after.mean(1))[:, None]).max(1)
