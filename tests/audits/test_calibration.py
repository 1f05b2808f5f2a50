"""What the tests of classes promise, on simulated populations of which the truth is known.

Every simulation draws two populations of 8 members on 50 classes of 60 examples. A member recalls an example of class c
with the probability of that class, independently; harmed classes lose `effect` of it in the second population.
"""

import numpy as np
import pytest

from tfaudit.audits.classes.classes import class_impact
from tfaudit.predictions import Predictions
from tfaudit.stats.multiplicity import adjust

MEMBERS, CLASSES, EXAMPLES, HARMED = 8, 50, 60, 10
LABELS = np.repeat(np.arange(CLASSES), EXAMPLES)
RECALL = np.linspace(0.55, 0.95, CLASSES)[np.random.default_rng(0).permutation(CLASSES)]


def trained(rng, recall):
    right = rng.random((MEMBERS, len(LABELS))) < recall[LABELS]
    return Predictions.from_top1(LABELS, np.where(right, LABELS, (LABELS + 1) % CLASSES))


def simulated(effect=0.0, runs=75):
    """Class impacts of raw recall, which harm to other classes does not shift: unharmed classes are true nulls."""
    rng = np.random.default_rng(1)
    harmed = RECALL - effect * (np.arange(CLASSES) < HARMED)
    return [
        class_impact(trained(rng, RECALL), trained(rng, harmed), centering="none")
        for _ in range(runs)
    ]


@pytest.fixture(scope="module")
def null():
    return simulated()


@pytest.fixture(scope="module")
def harmed():
    return simulated(0.1)


@pytest.mark.slow
def test_uncorrected_welch_flags_five_percent(null):
    """The share of 3,750 true nulls has a standard error of 0.36 points."""
    assert np.mean([(impact.published.p <= 0.05) for impact in null]) == pytest.approx(
        0.05, abs=0.011
    )


@pytest.mark.parametrize("centering", ["member", "population"])
def test_centred_recall_is_calibrated_too(centering):
    rng = np.random.default_rng(2)
    flagged = [
        class_impact(trained(rng, RECALL), trained(rng, RECALL), centering=centering).published.p
        <= 0.05
        for _ in range(50)
    ]
    assert np.mean(flagged) == pytest.approx(0.05, abs=0.013)


@pytest.mark.slow
def test_holm_controls_the_family(null, harmed):
    """The share of runs with any false positive; 75 runs have a standard error of 2.5 points."""
    for impacts, first in ((null, 0), (harmed, HARMED)):
        assert (
            np.mean(
                [(adjust(impact.published.p, "holm")[first:] <= 0.05).any() for impact in impacts]
            )
            <= 0.05 + 3 * 0.025
        )


def test_benjamini_hochberg_controls_false_discoveries(harmed):
    shares = []
    for impact in harmed:
        found = adjust(impact.published.p, "bh") <= 0.05
        shares.append(found[HARMED:].sum() / max(found.sum(), 1))
    assert np.mean(shares) <= 0.05 * (1 - HARMED / CLASSES) + 3 * np.std(shares) / np.sqrt(
        len(shares)
    )
    uncorrected = [
        (impact.published.p <= 0.05)[HARMED:].sum() / max((impact.published.p <= 0.05).sum(), 1)
        for impact in harmed
    ]
    assert np.mean(uncorrected) > 0.12  # what the correction is for
