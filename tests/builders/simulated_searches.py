"""Simulated searches for the smallest file that passes, whose files truly lose known shares of the accuracy."""

from collections.abc import Collection, Sequence

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
    losses: Sequence[float], seed: int, images: int, plain: Collection[int] = (), limit: float = 1.0
) -> dict[str, int | None]:
    """Return which simulated file passes a search, None for none, by what is judged.

    Judged is the smallest file alone that passes on the selection half, on the half that is held out; or the files that
    pass on the selection half in turn there, from the largest; or plain files in turn on all images, then the others
    in turn on the half that is held out, as `compress_to_limits` does.

    Args:
        losses: true losses of accuracy of the files in points, the largest file first.
        seed: the same seed gives the same images and predictions.
        images: number of images of both halves.
        plain: numbers of the files that use no labels; the search chooses the others.
        limit: limit of the gate, points.
    """
    before, after = grid(np.random.default_rng(seed), np.divide(losses, 100), images)

    def verdict(file: int, rows: slice, alpha: float = 0.05) -> Verdict:
        sides = (
            Predictions.from_top1(one.labels[rows], one.top1[0, rows], class_names=[0, 1])
            for one in (before, after[file])
        )
        return gate(*sides, Limits(overall_drop_pp=limit), alpha=alpha)

    trials = Trials()
    half = images // 2
    for file in range(len(losses)):
        size = int(1e6 * SMALLER**file)
        selected = verdict(file, slice(half))
        trials.by_key[str(file)] = Trial(selected.outcome, size=size, verdict=selected)
    chosen = sorted(trials.passing, key=int)
    rules = {
        "the smallest": ([], chosen[-1:]),
        "in turn": ([], chosen),
        "in turn, plain files on all images": trials.sequences([str(file) for file in plain], ()),
    }
    found = {}
    for name, (first, second) in rules.items():
        verdicts = judged_in_turn(
            first,
            second,
            lambda key, alpha, first=first: verdict(
                int(key), slice(0 if key in first else half, images), alpha
            ),
            0.05,
        )
        found[name] = max(
            (int(key) for key, one in verdicts.items() if one.outcome == PASS), default=None
        )
    return found
