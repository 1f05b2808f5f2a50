"""Metrics of classes against scikit-learn, and their errors against the bootstrap, the jackknife and DeLong."""

import functools

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, f1_score, precision_score, roc_auc_score

from tests.builders.delong import delong_covariance
from tfaudit.stats.class_metrics import (
    average_precision,
    macro_f1,
    metric_change,
    precision_changes,
    roc_area,
)
from tfaudit.stats.ties import BestClasses, Ties


def members(rng, labels, wrong, count=1, classes=3):
    """Models that predict any class where they are wrong; images are difficult for all of them alike."""
    difficulty = rng.random(len(labels))
    other = rng.integers(0, classes, len(labels))
    lost = difficulty + rng.normal(0, 0.1, (count, len(labels))) < wrong
    return [best(np.where(row, other, labels)) for row in lost]


def best(classes):
    return BestClasses(np.asarray(classes), Ties.none())


def drawn(seed, images=600, count=1, *, same_images=True):
    """Labels of unequal classes, and members before and after."""
    labels = np.random.default_rng(seed).choice(3, images, p=[0.8, 0.15, 0.05])
    rngs = [np.random.default_rng(seed + 1 + i * (not same_images)) for i in range(2)]
    return labels, [
        members(rng, labels, wrong, count) for rng, wrong in zip(rngs, (0.2, 0.3), strict=True)
    ]


def test_it_is_the_precision_of_scikit_learn():
    labels, sides = drawn(0, count=4)
    changes = precision_changes(*sides, labels, 3, paired=True)
    for side, found in zip(sides, (changes.before, changes.after), strict=True):
        predicted = np.concatenate([member.first for member in side])
        expected = precision_score(np.tile(labels, len(side)), predicted, average=None)
        assert found == pytest.approx(expected, abs=1e-12)
    assert changes.change.value == pytest.approx(changes.after - changes.before, abs=1e-12)


@pytest.mark.parametrize("size", [1, 5])
def test_the_error_of_a_pair_is_that_of_the_bootstrap_over_images_or_clusters(size):
    labels, sides = drawn(3, images=10_000)
    clusters = np.arange(len(labels)) // size
    found = precision_changes(
        *sides, labels, 3, paired=True, clusters=None if size == 1 else clusters
    )
    rng = np.random.default_rng(0)
    groups = np.arange(len(labels)).reshape(-1, size)
    differences = []
    for _ in range(800):
        rows = groups[rng.integers(0, len(groups), len(groups))].ravel()
        before, after = (side[0].first[rows] for side in sides)
        hits = [np.bincount(found[found == labels[rows]]) for found in (after, before)]
        differences.append(hits[0] / np.bincount(after) - hits[1] / np.bincount(before))
    assert found.change.error == pytest.approx(np.std(differences, axis=0), rel=0.12)


def test_populations_vary_over_members_as_well():
    labels, sides = drawn(3, images=2000, count=5)
    alike = precision_changes(*([side[0]] * 5 for side in sides), labels, 3, paired=True)
    single = precision_changes(*(side[:1] for side in sides), labels, 3, paired=True)
    assert alike.change.error == pytest.approx(single.change.error, rel=1e-3)
    differ = precision_changes(*sides, labels, 3, paired=True).change
    assert (differ.of_members > 0).all()


def test_ties_count_in_part_and_classes_have_no_order():
    labels = np.array([0, 0, 1, 1])
    tie = BestClasses(np.array([0, 0, 0, 1]), Ties(np.array([2, 2]), np.array([0, 1])))
    sides = [tie], [best([0, 0, 1, 1])]
    changes = precision_changes(*sides, labels, 2, paired=True)
    assert changes.before == pytest.approx([2 / 2.5, 1])
    assert changes.after == pytest.approx([1, 1])
    labels, sides = drawn(7, count=3)
    renamed = [[best((member.first + 1) % 3) for member in side] for side in sides]
    one = precision_changes(*sides, labels, 3, paired=False).change
    other = precision_changes(*renamed, (labels + 1) % 3, 3, paired=False).change
    assert np.roll(one.value, 1) == pytest.approx(other.value)
    assert np.roll(one.error, 1) == pytest.approx(other.error)


def test_a_class_that_is_never_predicted_has_no_precision():
    labels = np.array([0, 0, 1, 2])
    changes = precision_changes([best([0, 0, 1, 1])], [best([0, 0, 0, 0])], labels, 4, paired=True)
    np.testing.assert_array_equal(changes.before, [1, 0.5, np.nan, np.nan])
    np.testing.assert_array_equal(changes.after, [0.5, np.nan, np.nan, np.nan])
    assert np.isnan(changes.change.interval()[0][1:]).all()


def test_nothing_changed_among_few_predictions_is_no_proof():
    """With 8 predictions of the class, all right, one more wrong one after compression cannot be excluded."""
    labels = np.repeat([0, 1], [992, 8])
    low, high = precision_changes(
        [best(labels)], [best(labels)], labels, 2, paired=True
    ).change.interval()
    assert (low[1], high[1]) == pytest.approx((-0.334, 0.334), abs=0.01)
    assert high[0] < 0.01


SCORED = {
    "average precision": (average_precision, average_precision_score),
    "ROC area": (roc_area, roc_auc_score),
}


def scored(seed, decimals=8, images=4000, positives=400, members=1):
    """Labels, and scores of members before and after, which separate them less; rounded scores tie."""
    rng = np.random.default_rng(seed)
    labels = (np.arange(images) < positives).astype(int)
    before = (2 * labels + rng.normal(size=images) + rng.normal(0, 0.3, (members, images))).round(
        decimals
    )
    after = (before + rng.normal(0, 0.7, before.shape)).round(decimals)
    return labels, before, after


def change_of(metric, labels, *sides, clusters=None):
    members = ([functools.partial(metric, row, labels) for row in side] for side in sides)
    paired = len(sides[0]) > 1
    return metric_change(*members, labels, np.ones(2), paired=paired, clusters=clusters)


@pytest.mark.parametrize("decimals", [0, 1, 8])
@pytest.mark.parametrize("name", SCORED)
def test_metrics_of_scores_are_those_of_scikit_learn(name, decimals):
    metric, reference = SCORED[name]
    labels, *sides = scored(0, decimals, members=3)
    found = change_of(metric, labels, *sides)
    for side, value in zip(sides, (found.before, found.after), strict=True):
        assert value == pytest.approx(np.mean([reference(labels, row) for row in side]))
    order = np.random.default_rng(1).permutation(len(labels))
    again = change_of(metric, labels[order], *(np.exp(side[:, order]) for side in sides))
    assert again.change.value == pytest.approx(found.change.value)
    assert again.change.error == pytest.approx(found.change.error)


def test_macro_f1_is_that_of_scikit_learn():
    labels, (side, _) = drawn(0, images=100)
    labels[labels == 2] = 0  # a class without images, which is predicted
    expected = f1_score(labels, side[0].first, average="macro", labels=[0, 1], zero_division=0)
    value, influence = macro_f1(side[0], labels, 4)
    assert value == pytest.approx(expected)
    assert (influence / np.bincount(labels)[labels]).sum() == pytest.approx(0)
    assert macro_f1(best([0, 0]), np.array([0, 1]), 2)[0] == pytest.approx(1 / 3)
    tie = BestClasses(np.array([0, 0, 0]), Ties(np.array([2, 2]), np.array([0, 1])))
    assert macro_f1(tie, np.array([0, 0, 1]), 2)[0] == pytest.approx((4 / 4.5 + 1 / 1.5) / 2)


@pytest.mark.parametrize("decimals", [0, 8])
def test_the_error_of_a_roc_area_is_that_of_delong(decimals):
    labels, before, after = scored(2, decimals)
    covariance = delong_covariance([before[0], after[0]], labels)
    expected = np.sqrt([1, -1] @ covariance @ [1, -1])
    assert change_of(roc_area, labels, before, after).change.error == pytest.approx(expected)


@pytest.mark.parametrize("size", [1, 4])
@pytest.mark.parametrize("name", [*SCORED, "F1"])
def test_the_errors_of_other_metrics_are_those_of_the_bootstrap(name, size):
    labels, before, after = scored(3, images=20_000, positives=4000)
    clusters = None if size == 1 else np.arange(len(labels)) // size
    if name == "F1":
        reference = functools.partial(f1_score, average="macro")
        before, after = (np.where(side > 1.5, 1, 0) for side in (before, after))
        sides = (
            [functools.partial(macro_f1, best(side[0]), labels, 2)] for side in (before, after)
        )
        found = metric_change(*sides, labels, np.full(2, 0.5), paired=False, clusters=clusters)
    else:
        metric, reference = SCORED[name]
        found = change_of(metric, labels, before, after, clusters=clusters)
    rng = np.random.default_rng(0)
    kinds = [np.flatnonzero(labels == kind).reshape(-1, size) for kind in (0, 1)]
    differences = []
    for _ in range(300):
        drawn_rows = [kind[rng.integers(0, len(kind), len(kind))].ravel() for kind in kinds]
        rows = np.concatenate(drawn_rows)
        values = [reference(labels[rows], side[0][rows]) for side in (after, before)]
        differences.append(values[0] - values[1])
    assert found.change.error == pytest.approx(np.std(differences), rel=0.15)


@pytest.mark.parametrize("name", SCORED)
def test_members_that_agree_are_one_and_copies_in_clusters_too(name):
    metric, _ = SCORED[name]
    labels, *sides = scored(5)
    once = change_of(metric, labels, *sides).change
    alike = change_of(metric, labels, *(np.repeat(side, 4, axis=0) for side in sides)).change
    assert alike.error == pytest.approx(once.error, rel=1e-2)
    copies = (np.repeat(side, 2, axis=1) for side in sides)
    clusters = np.repeat(np.arange(len(labels)), 2)
    twice = change_of(metric, np.repeat(labels, 2), *copies, clusters=clusters).change
    assert twice.error == pytest.approx(once.error, rel=2e-2)
    differing = change_of(metric, *scored(5, members=4)).change
    assert differing.of_members > 0


def test_unchanged_scores_of_few_images_are_no_proof():
    labels, before, _ = scored(6, images=208, positives=8)
    for metric, _ in SCORED.values():
        low, high = change_of(metric, labels, before, before).change.interval()
        assert low < -0.2 < 0.2 < high


def test_one_kind_alone_has_no_metric_of_scores():
    scores = np.arange(3.0)
    for kind in (0, 1):
        assert np.isnan(roc_area(scores, np.full(3, kind))[0])
    assert np.isnan(average_precision(scores, np.zeros(3, int))[0])
