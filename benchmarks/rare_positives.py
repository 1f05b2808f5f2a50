"""Simulated detectors of a rare class, one image in a hundred: intervals of precision, and what the gate says.

    python -m benchmarks.rare_positives {precision,gate,limits} [--studies 400]

Members see the difficulty of an image through noise of their own (30 % of its variance); compressed members that are
made from the baseline's share 95 % of it. `holds` is the share of studies whose 95 % interval holds the true change of
precision, `passes` that of studies that pass at a loss of 1.1 times the limit, `fails` at .9 times the limit.

`gate` judges detectors by the default limits of two classes, `recall alone` by those without precision. False alarms
lower precision from .55 to .35; blurred scores lower the area under the ROC curve from .93 to .81 and the average
precision from .32 to .26; "nothing" is a detector that loses nothing.

`limits` judges detectors with blurred scores and more false alarms at a threshold of .3 by one limit each: how often
the interval holds the true loss, how often a loss of 1.1 times the limit passes and one of .9 times the limit fails.
"""

import argparse
import dataclasses
import functools
from collections.abc import Callable

import numpy as np
import pandas as pd
from scipy.special import expit, logit, ndtr, ndtri

from tfaudit.audits.comparison import Comparison
from tfaudit.audits.gate.checks import FAIL, OUTCOMES, PASS
from tfaudit.audits.gate.gate import judge
from tfaudit.audits.gate.limits import Limits
from tfaudit.audits.gate.measurements import measure
from tfaudit.predictions import Predictions

__all__ = ["main"]

SENSITIVITY, NOISE, SHARED = 0.9, 0.3, 0.95
FALSE_ALARMS = ((0.005, 0.0115), (0.0005, 0.0015))
"""False positive rates before and after."""

CLEAR, FAINT, ALARM, THRESHOLD = 2.238, 0.222, 3.225, 0.3
"""Mean of the scores of clear positives, share of faint ones, score of probability .5, probability of an alarm."""

SHARP, BLURRED, NOISY = (1.687, 0.0), (-0.572, 0.0), (-0.572, 0.2)
"""Mean scores of faint positives and of negatives: before, and after; the noisy detector has more false alarms, too."""


def noises(rng: np.random.Generator, members: int, images: int, paired: bool) -> list[np.ndarray]:
    """Return what the members of both populations see of each image, `(K, N)` standard normal numbers each."""
    difficulty = rng.standard_normal(images)
    noise = rng.standard_normal((members, images))
    other = rng.standard_normal(noise.shape)
    after = np.sqrt(SHARED) * noise + np.sqrt(1 - SHARED) * other if paired else other
    return [np.sqrt(1 - NOISE) * difficulty + np.sqrt(NOISE) * own for own in (noise, after)]


def detectors(
    rng: np.random.Generator,
    labels: np.ndarray,
    alarms: tuple[float, float],
    members: int,
    paired: bool,
    sensitivity: float = SENSITIVITY,
) -> tuple[Predictions, Predictions]:
    """Return populations with these shares of false alarms."""
    sides = [
        Predictions.from_top1(
            labels,
            (seen < ndtri(np.where(labels, sensitivity, share))).astype(int),
            parents=range(members) if paired else None,
        )
        for seen, share in zip(noises(rng, members, len(labels), paired), alarms, strict=True)
    ]
    return sides[0], sides[1]


def scored_detectors(
    rng: np.random.Generator,
    labels: np.ndarray,
    means: tuple[tuple[float, float], ...],
    members: int,
    paired: bool,
) -> tuple[Predictions, Predictions]:
    """Return populations whose scores are normal, with these means for `FAINT` of the positives and for negatives."""
    faint = labels * (rng.random(len(labels)) < FAINT)
    kinds = labels + faint
    sides = [
        Predictions.from_scores(
            labels,
            expit(seen + np.array([negative, CLEAR, mean])[kinds] - ALARM)[..., None],
            parents=range(members) if paired else None,
            scores_are="probabilities",
        )
        for seen, (mean, negative) in zip(
            noises(rng, members, len(labels), paired), means, strict=True
        )
    ]
    return sides[0], sides[1]


def precision_row(
    positives: int, alarms: tuple[float, float], members: int, paired: bool, studies: int
):
    """Return the coverage and the error rates of the interval of the change of precision."""
    labels = (np.arange(100 * positives) < positives).astype(int)
    found = SENSITIVITY / (SENSITIVITY + 99 * np.array(alarms))
    loss = found[0] - found[1]
    rng = np.random.default_rng(positives * members)
    ends = []
    for _ in range(studies):
        comparison = Comparison(*detectors(rng, labels, alarms, members, paired))
        low, high = comparison.precision_changes().change.interval(most=1)
        ends.append((-high[1], -low[1]))
    low, high = np.transpose(ends)
    return {
        "K": members,
        "positives": positives,
        "paired": paired,
        "precision": f"{found[0]:.2f} to {found[1]:.2f}",
        "holds": ((low <= loss) & (loss <= high)).mean(),
        "passes": (high < loss / 1.1).mean(),
        "fails": (low > loss / 0.9).mean(),
        "half-width": (high - low).mean() / 2,
    }


def precision(studies: int) -> pd.DataFrame:
    """Return the table of intervals of precision."""
    return pd.DataFrame(
        precision_row(positives, alarms, members, paired, studies)
        for members in (1, 2, 5, 10)
        for positives in (10, 20, 50, 200)
        for alarms in FALSE_ALARMS
        for paired in ((True,) if members == 1 else (True, False))
    )


def gate_row(
    name: str,
    kind: Callable[..., tuple[Predictions, Predictions]],
    positives: int,
    members: int,
    studies: int,
):
    """Return the shares of outcomes of the default gate, and of one that does not limit precision."""
    labels = (np.arange(100 * positives) < positives).astype(int)
    rng = np.random.default_rng(positives * members)
    limits = Limits().for_classes(2)
    without = dataclasses.replace(limits, precision_drop_pp=None)
    found: dict[str, list[str]] = {"default": [], "recall alone": []}
    for _ in range(studies):
        measured = measure(*kind(rng, labels, members=members, paired=True))
        for which, outcomes in zip((limits, without), found.values(), strict=True):
            outcomes.append(judge(measured, which).outcome)
    shares = {
        f"{which}: {outcome}": np.mean([each == outcome for each in outcomes])
        for which, outcomes in found.items()
        for outcome in OUTCOMES
    }
    return {"loses": name, "K": members, "positives": positives, **shares}


def default_gate(studies: int) -> pd.DataFrame:
    """Return the table of verdicts by the default limits."""
    alarms = functools.partial(detectors, sensitivity=0.61)
    kinds = {
        "precision": functools.partial(alarms, alarms=FALSE_ALARMS[0]),
        "ranking": functools.partial(scored_detectors, means=(SHARP, BLURRED)),
        "nothing": functools.partial(alarms, alarms=(0.005, 0.005)),
        "nothing, scores": functools.partial(scored_detectors, means=(SHARP, SHARP)),
    }
    return pd.DataFrame(
        gate_row(name, kind, positives, members, studies)
        for name, kind in kinds.items()
        for members in (1, 3, 10)
        for positives in (50, 200, 1000)
        if members * positives <= 3000
    )


def true_metrics(means: tuple[float, float]) -> dict[str, float]:
    """Return the metrics of a detector with these mean scores on infinitely many images, percent."""
    faint, negative = means
    scores = np.linspace(-8, 12, 40_001)
    found = sum(share * ndtr(mean - scores) for share, mean in ((1 - FAINT, CLEAR), (FAINT, faint)))
    false = ndtr(negative - scores)
    precision = found / (found + 99 * false)
    weights = -np.diff(found, append=0)
    at = np.argmin(abs(scores - (ALARM + logit(THRESHOLD))))
    sensitivity, specificity = found[at], 1 - false[at]
    f1 = [
        2 * right * share / (right * share + wrong * (1 - share) + share)
        for right, wrong, share in (
            (sensitivity, 1 - specificity, 0.01),
            (specificity, 1 - sensitivity, 0.99),
        )
    ]
    return {
        "f1_drop_pp": 100 * np.mean(f1),
        "sensitivity_drop_pp": 100 * sensitivity,
        "specificity_drop_pp": 100 * specificity,
        "auroc_drop_pp": 100 * weights @ (1 - false),
        "average_precision_drop_pp": 100 * weights @ precision,
    }


def limit_rows(positives: int, members: int, paired: bool, studies: int) -> list[dict[str, object]]:
    """Return the coverage and the error rates of every limit on a detector with blurred scores."""
    labels = (np.arange(100 * positives) < positives).astype(int)
    rng = np.random.default_rng(positives * members)
    before, after = map(true_metrics, (SHARP, NOISY))
    losses = {name: before[name] - after[name] for name in before}
    errors: dict[str, list[list[bool]]] = {name: [] for name in losses}
    for _ in range(studies):
        sides = scored_detectors(rng, labels, (SHARP, NOISY), members, paired)
        measured = measure(*(side.at_threshold(THRESHOLD, "1") for side in sides))
        for name, loss in losses.items():
            more, less = (
                judge(measured, Limits(**{name: loss / ratio}, positive="1")).checks[0]
                for ratio in (1.1, 0.9)
            )
            holds = more.low <= loss <= more.high
            errors[name].append([holds, more.outcome == PASS, less.outcome == FAIL])
    return [
        {
            "limit": name,
            "K": members,
            "positives": positives,
            "paired": paired,
            "loss": losses[name],
            **dict(zip(("holds", "passes", "fails"), np.mean(rows, axis=0), strict=True)),
        }
        for name, rows in errors.items()
    ]


def limits(studies: int) -> pd.DataFrame:
    """Return the table of the limits of detectors."""
    rows = [
        row
        for members, paired in ((1, True), (3, True), (3, False), (10, True))
        for positives in (20, 50, 200)
        if members * positives <= 1000
        for row in limit_rows(positives, members, paired, studies)
    ]
    return pd.DataFrame(rows).sort_values("limit", kind="stable")


TABLES = {"precision": precision, "gate": default_gate, "limits": limits}


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("table", choices=TABLES)
    parser.add_argument("--studies", type=int, default=400)
    options = parser.parse_args()
    print(TABLES[options.table](options.studies).round(3).to_string(index=False))


if __name__ == "__main__":
    main()
