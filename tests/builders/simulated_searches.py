"""Simulated searches for the smallest file that passes, whose files truly lose known shares of the accuracy."""

from collections.abc import Callable, Sequence

import numpy as np

from tests.builders.simulated_grids import grid
from tfaudit.audits.gate.checks import PASS
from tfaudit.audits.gate.gate import Verdict, gate
from tfaudit.audits.gate.limits import Limits
from tfaudit.extensions.search.trials import Trial, Trials, judged_in_turn
from tfaudit.predictions import Predictions

SMALLER = 0.75
"""Size of each file of a simulated search as a share of the one before."""


def found_files(
    losses: Sequence[float],
    seed: int,
    images: int,
    plain: Sequence[int] = (),
    limit: float = 1.0,
    fallbacks: Sequence[int] = (),
) -> dict[str, int | None]:
    """Return which simulated file passes a search, None for none, by the rules of `passing_files`.

    Args:
        losses: true losses of accuracy of the files in points, the largest file first.
        seed: the same seed gives the same images and predictions.
        images: number of images of both halves.
        plain: numbers of the files that use no labels; the search chooses the others.
        fallbacks: the same of files in floats, which are judged if something else does not pass.
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
    found = passing_files(
        trials,
        [str(file) for file in plain],
        lambda key, on_all, alpha: verdict(int(key), slice(0 if on_all else half, images), alpha),
        [str(file) for file in fallbacks],
    )
    return {rule: None if key is None else int(key) for rule, key in found.items()}


def passing_files(
    trials: Trials,
    plain: Sequence[str],
    verdict: Callable[[str, bool, float], Verdict],
    fallbacks: Sequence[str] = (),
) -> dict[str, str | None]:
    """Return the key of the smallest file that passes, None for none, by what is judged.

    Judged is the smallest file alone that passes on the selection part, on the held-out part; or the files that pass on
    the selection part in turn there, from the largest; or plain files in turn on all images, then the others in turn on
    the held-out part, as `compress_to_limits` does.

    Args:
        trials: the files on the selection part.
        plain: keys of the files that use no labels.
        verdict: function that judges a file by its key, on all images or the held-out part, at a level.
        fallbacks: keys of the files in floats, which are judged on all images if something else does not pass.
    """

    def size(key: str) -> int:
        return trials.by_key[key].size

    chosen = sorted(trials.passing, key=size, reverse=True)
    rules = {
        "the smallest": ([], chosen[-1:], None),
        "in turn": ([], chosen, None),
        "in turn, plain files on all images": (
            *trials.sequences(plain, fallbacks, ()),
            (lambda: fallbacks) if fallbacks else None,
        ),
    }
    found = {}
    for name, (first, second, third) in rules.items():
        on_all = {*first, *fallbacks} if third else {*first}
        verdicts = judged_in_turn(
            first,
            second,
            lambda key, alpha, on_all=on_all: verdict(key, key in on_all, alpha),
            0.05,
            third,
        )
        passing = [key for key, one in verdicts.items() if one.outcome == PASS]
        smaller = [key for key in passing if key not in fallbacks]
        found[name] = min(smaller, key=size) if smaller else next(reversed(passing), None)
    return found
