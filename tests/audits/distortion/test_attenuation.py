"""Corrected slopes: against instruments from halves of the images, in simulations of no change, degenerate cases."""

import numpy as np
import pytest
from scipy import stats

from tests.builders.populations import population
from tfaudit.audits.distortion.attenuation import corrected_slopes
from tfaudit.audits.distortion.recall_distortion import distortion
from tfaudit.predictions import Predictions


def simulated(rng, classes=40, images=40, members=3, grown=1.0):
    """Models before, and after with balances that have grown; some images are harder than others."""
    recall = np.clip(rng.normal(0.7, 0.1, classes), 0.05, 0.95)
    labels = np.repeat(np.arange(classes), images)
    changed = np.clip(recall.mean() + grown * (recall - recall.mean()), 0.01, 0.99)
    luck = rng.random(len(labels))
    sides = []
    for rate in (recall, changed):
        of_images = stats.beta.ppf(luck, 3 * rate[labels], 3 * (1 - rate[labels]))
        sides.append(rng.random((members, len(labels))) < of_images)
    return *sides, labels


def by_halves(before, after, labels, classes, rng, times=3000):
    """Slope instrumented by the balances of the other half of the images, averaged over halvings."""
    above = below = 0.0
    size = len(labels) // classes
    for _ in range(times):
        order = np.argsort(rng.random((classes, size)), axis=1)
        half = np.ravel(order < size // 2)
        balances = []
        for right in (before, after):
            for part in (half, ~half):
                hits = np.bincount(labels[part], right[part], classes) / (size // 2)
                balances.append(hits / hits.mean() - 1)
        above += balances[0] @ balances[3] + balances[1] @ balances[2]
        below += 2 * balances[0] @ balances[1]
    return above / below


def test_it_is_the_slope_instrumented_by_the_other_half(rng):
    before, after, labels = simulated(rng, members=1)
    expected = by_halves(before[0], after[0], labels, 40, rng)
    assert corrected_slopes(before, after, labels, 40)[0] == pytest.approx(expected, rel=0.02)


@pytest.mark.parametrize("grown", [1.0, 1.4])
def test_finite_images_do_not_attenuate_it(rng, grown):
    raw, corrected = [], []
    for _ in range(60):
        before, after, labels = simulated(rng, grown=grown)
        corrected.append(corrected_slopes(before, after, labels, 40)[0].mean())
        populations = (
            Predictions.from_top1(labels, np.where(side, labels, (labels + 1) % 40))
            for side in (before, after)
        )
        found = distortion(*populations)
        raw.append(found.alpha.mean())
        assert found.corrected.mean() == pytest.approx(corrected[-1])
    assert np.mean(raw) < grown - 0.1
    assert np.mean(corrected) == pytest.approx(grown, abs=3 * stats.sem(corrected))


def test_no_change_claims_little_where_the_raw_slope_always_does(rng):
    marks, raw = [], []
    for _ in range(60):
        before, after, labels = simulated(rng, members=5)
        populations = [
            Predictions.from_top1(labels, np.where(side, labels, (labels + 1) % 40))
            for side in (before, after)
        ]
        found = distortion(*populations)
        assert not found.paired
        marks.append(found.corrected_mark().mark)
        raw.append(found.mark().mark)
    assert raw.count("<") > 50
    assert marks.count("?") > 48


def test_members_made_from_dense_ones_are_compared_with_one():
    dense, pruned = population(1), population(2, hurt=[3])
    derived = Predictions(pruned.labels, pruned.ranked, parents=dense.members)
    assert distortion(dense, derived).paired
    np.testing.assert_allclose(distortion(dense, dense).corrected, 1)
    assert distortion(dense, dense, paired=True).corrected_mark().mark == "?"
    found = distortion(dense, dense, paired=True).summary()
    assert found["corrected"] == pytest.approx(1)
    assert found["corrected_between_dense"] > found["slope_between_dense"]


def test_undefined_slopes():
    labels = np.repeat([0, 1, 2], [10, 10, 1])
    everything = np.ones((1, 21), bool)
    assert np.isnan(
        corrected_slopes(everything, everything, labels, 4)[0]
    ).all()  # all balances are 0
    assert np.isnan(
        distortion(*[Predictions.from_top1(labels, labels)] * 2, metric="f1").corrected
    ).all()
