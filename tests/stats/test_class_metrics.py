"""Precision of classes against scikit-learn, and its errors against the bootstrap."""

import numpy as np
import pytest
from sklearn.metrics import precision_score

from tfaudit.stats.class_metrics import precision_changes
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


def test_copies_of_every_image_in_clusters_tell_no_more_than_one():
    labels, sides = drawn(5)
    once = precision_changes(*sides, labels, 3, paired=True).change
    twice = [[best(np.repeat(member.first, 2)) for member in side] for side in sides]
    clusters = np.repeat(np.arange(len(labels)), 2)
    again = precision_changes(
        *twice, np.repeat(labels, 2), 3, paired=True, clusters=clusters
    ).change
    for one, other in zip(once.interval(), again.interval(), strict=True):
        assert other == pytest.approx(one, rel=1e-2)


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
