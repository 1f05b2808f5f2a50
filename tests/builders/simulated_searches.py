"""Simulated searches for the smallest file that passes, whose files truly lose known shares of the accuracy."""

from collections.abc import Sequence

import numpy as np

from tests.builders.simulated_grids import grid
from tfaudit.audits.gate.checks import PASS
from tfaudit.audits.gate.gate import Verdict, gate
from tfaudit.audits.gate.limits import Limits
from tfaudit.predictions import Predictions
from tfaudit.search.trials import Trial, Trials, judged_in_turn

SMALLER = 0.75
"""Size of each file of a simulated search as a share of the one before."""


def found_files(
    losses: Sequence[float], seed: int, images: int, limit: float = 1.0
) -> dict[str, int | None]:
    """Return which simulated file passes a search, None for none, by what is judged on the half that is held out.

    Judged is the smallest file alone that passes on the selection half, or these in turn, from the largest; or all
    files in turn, on all images.

    Args:
        losses: true losses of accuracy of the files in points, the largest file first.
        seed: the same seed gives the same images and predictions.
        images: number of images of both halves.
        limit: limit of the gate, points.
    """
    before, after = grid(np.random.default_rng(seed), np.divide(losses, 100), images)

    def verdict(file: int, rows: slice) -> Verdict:
        sides = (
            Predictions.from_top1(one.labels[rows], one.top1[0, rows], class_names=[0, 1])
            for one in (before, after[file])
        )
        return gate(*sides, Limits(overall_drop_pp=limit))

    trials = Trials()
    half = images // 2
    for file in range(len(losses)):
        size = int(1e6 * SMALLER**file)
        trials.by_key[str(file)] = Trial(verdict(file, slice(half)).outcome, size=size)
    sequence = trials.sequence(())
    sequences = {
        "the smallest": (sequence[-1:], slice(half, images)),
        "in turn": (sequence, slice(half, images)),
        "in turn, all images": (map(str, range(len(losses))), slice(images)),
    }
    found = {}
    for name, (keys, rows) in sequences.items():
        verdicts = judged_in_turn(keys, lambda key, rows=rows: verdict(int(key), rows))
        found[name] = max(
            (int(key) for key, one in verdicts.items() if one.outcome == PASS), default=None
        )
    return found
