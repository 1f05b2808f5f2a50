"""Where two models part: the images whose answer flips, and how far the two agree beyond that."""

from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd

from tfaudit.predictions import Predictions
from tfaudit.stats.contingency import cohen_kappa, mcnemar, paired_interval

__all__ = ["Overall", "flipped", "overall"]

KINDS = np.array(["lost", "won", "other wrong"], object)


@dataclasses.dataclass(frozen=True)
class Overall:
    """The comparison over all examples of all classes. Shares are in [0, 1], NaN where their denominator is 0.

    Attributes:
        examples: N.
        accuracy_before: top-1 accuracy of the baseline.
        accuracy_after: that of the compressed model.
        low: lower end of the interval of the difference, at level 1 - alpha.
        high: its upper end.
        p: of McNemar's exact test.
        lost: right before, wrong after.
        won: wrong before, right after.
        other_wrong: wrong before, wrong after with another class.
        btc: backward trust compatibility: of the baseline's right answers, the share that stays right.
        bec: backward error compatibility: of the baseline's wrong answers, the share that stays wrong.
        agreement: share of examples on which both give the same class.
        top5_overlap: mean share of the five best classes that both models name; NaN where fewer than five are stored.
        kappa: Cohen's kappa of the two models' answers; NaN where both always give one class.
    """

    examples: int
    accuracy_before: float
    accuracy_after: float
    low: float
    high: float
    p: float
    lost: int
    won: int
    other_wrong: int
    btc: float
    bec: float
    agreement: float
    top5_overlap: float
    kappa: float


def overall(baseline: Predictions, compressed: Predictions, *, alpha: float) -> Overall:
    """The figures over all examples.

    Args:
        baseline: one member.
        compressed: one member, on the same examples.
        alpha: the interval is at level 1 - alpha.

    Example:
        >>> before = Predictions.from_top1([0, 0, 1, 1], [0, 0, 1, 0])
        >>> found = overall(before, Predictions.from_top1([0, 0, 1, 1], [0, 1, 1, 1]), alpha=0.05)
        >>> found.lost, found.won, round(found.btc, 3), found.bec
        (1, 1, 0.667, 0.0)
    """
    before, after = baseline.correct()[0], compressed.correct()[0]
    same = baseline.top1[0] == compressed.top1[0]
    lost, won = np.sum(before & ~after), np.sum(~before & after)
    low, high = paired_interval([lost], [won], [len(before)], confidence=1 - alpha)
    return Overall(
        examples=len(before),
        accuracy_before=float(before.mean()),
        accuracy_after=float(after.mean()),
        low=float(low[0]),
        high=float(high[0]),
        p=float(mcnemar(lost, won)),
        lost=int(lost),
        won=int(won),
        other_wrong=int(np.sum(~before & ~after & ~same)),
        btc=_share(after, before),
        bec=_share(~after, ~before),
        agreement=float(same.mean()),
        top5_overlap=_top5_overlap(baseline.ranked[0], compressed.ranked[0]),
        kappa=cohen_kappa(baseline.top1[0], compressed.top1[0]),
    )


def flipped(baseline: Predictions, compressed: Predictions) -> pd.DataFrame:
    """One row per example to which the two models give different classes, in the order of the examples.

    Columns: `index`, `example` (id), `label`, `before`, `after` (class names), `kind` (lost, won, other wrong), and
    where the predictions hold them `probability_before`, `probability_after`: each model's for its own answer.
    """
    before, after = baseline.top1[0], compressed.top1[0]
    index = np.flatnonzero(before != after)
    truth = baseline.labels[index]
    names = np.array(baseline.class_names, object)
    columns = {
        "index": index,
        "example": baseline.example_ids[index],
        "label": names[truth],
        "before": names[before[index]],
        "after": names[after[index]],
        "kind": KINDS[np.where(before[index] == truth, 0, np.where(after[index] == truth, 1, 2))],
    }
    for name, model in (("probability_before", baseline), ("probability_after", compressed)):
        if model.probabilities is not None:
            columns[name] = model.probabilities[0, index, 0]
    return pd.DataFrame(columns)


def _share(of: np.ndarray, among: np.ndarray) -> float:
    return float(of[among].mean()) if among.any() else float("nan")


def _top5_overlap(before: np.ndarray, after: np.ndarray) -> float:
    if min(before.shape[1], after.shape[1]) < 5:
        return float("nan")
    return float((before[:, :5, None] == after[:, None, :5]).any(2).mean())
