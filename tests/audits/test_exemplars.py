"""PIEs against counting one image after the other, SciPy's entropy and mode, and their invariances."""

import numpy as np
import pytest
from scipy import stats

from tests.builders.populations import modal_sets, pies_of, population
from tfaudit.audits.exemplars.exemplars import exemplars
from tfaudit.predictions import Predictions

BEFORE, AFTER = population(1), population(2, hurt=[3])


def test_equals_scipy_mode():
    modes = [
        stats.mode(p.ranked[:, :, 0], axis=0).mode for p in (BEFORE, AFTER)
    ]  # SciPy takes the lowest, too
    found = exemplars(BEFORE, AFTER)
    assert found.published == (modes[0] != modes[1]).sum()
    assert found.summary()["share"] == len(found.index) / 200
    for side, name in ((BEFORE, "baseline"), (AFTER, "compressed")):
        right = side.modal_classes().among_best(side.labels)[found.index] > 0
        assert found.summary()[f"{name}_mode_right"] == right.sum()


def test_equals_counting_every_example():
    found, sets = exemplars(BEFORE, AFTER), [modal_sets(p) for p in (BEFORE, AFTER)]
    np.testing.assert_array_equal(found.index, np.flatnonzero(pies_of(BEFORE, AFTER)))
    chance = [
        1 - len(one & other) / max(len(one), len(other)) for one, other in zip(*sets, strict=True)
    ]
    np.testing.assert_allclose(found.probability, chance)
    assert found.summary()["expected"] == pytest.approx(sum(chance))
    assert found.summary()["undecided"] == sum(0 < share < 1 for share in chance) > 0


def test_votes_equal_counting():
    for row in exemplars(BEFORE, AFTER).frame().to_dict("records"):
        for name, each in (("baseline", BEFORE), ("compressed", AFTER)):
            counts = np.bincount(each.ranked[:, row["index"], 0], minlength=5)
            assert row[f"{name}_share"] == pytest.approx(counts.max() / 6)
            assert row[f"{name}_entropy"] == pytest.approx(stats.entropy(counts, base=2))
        assert row["decisiveness"] == pytest.approx(row["baseline_share"] * row["compressed_share"])


def test_difficulty_equals_masks():
    found = exemplars(BEFORE, AFTER)
    pie = np.isin(np.arange(200), found.index)
    table = found.difficulty.set_index(["population", "group", "k"])
    assert len(table) == 12
    for name, each in (("baseline", BEFORE), ("compressed", AFTER)):
        right = each.ranked[:, :, 0] == each.labels
        for group, mask in (("PIE", pie), ("non-PIE", ~pie), ("all", pie | ~pie)):
            accuracy = right[:, mask].mean(1)
            row = table.loc[(name, group, 1)]
            low, high = stats.t.interval(0.95, 5, loc=accuracy.mean(), scale=stats.sem(accuracy))
            assert row[["accuracy", "low", "high"]].tolist() == pytest.approx(
                [accuracy.mean(), low, high]
            )
            assert row["examples"] == mask.sum()
            assert table.loc[(name, group, 5), "accuracy"] == 1  # five ranks of five classes


def test_symmetric():
    np.testing.assert_array_equal(exemplars(BEFORE, AFTER).index, exemplars(AFTER, BEFORE).index)


def test_ties():
    before = Predictions.from_top1([0, 0], [[0, 1], [1, 1]])  # image 0: 0 and 1 are tied
    after = Predictions.from_top1([0, 0], [[1, 1], [1, 1]])
    undecided = exemplars(before, after)
    assert (list(undecided.index), undecided.probability.tolist()) == ([], [0.5, 0.0])
    assert undecided.published == 1


def test_beside_each_stands_an_unchanged_example_of_its_class():
    found = exemplars(BEFORE, AFTER)
    beside = found.unchanged_beside(found.index)
    assert (found.labels[beside] == found.labels[found.index]).all()
    assert not np.isin(beside, found.index).any()
    sizes = np.bincount(found.labels) - np.bincount(
        found.labels[found.index], minlength=len(found.class_names)
    )
    wanted = np.bincount(found.labels[found.index], minlength=len(found.class_names))
    shown = np.bincount(found.labels[np.unique(beside)], minlength=len(found.class_names))
    np.testing.assert_array_equal(
        shown, np.minimum(sizes, wanted)
    )  # none twice while there are enough
    np.testing.assert_array_equal(beside, found.unchanged_beside(found.index))
    everything = exemplars(
        *(Predictions.from_top1([0, 0, 1], [top1]) for top1 in ([0, 0, 1], [1, 1, 1]))
    )
    assert everything.unchanged_beside(np.array([0, 1])).tolist() == [-1, -1]


def test_confusions_count_every_lost_image_once():
    before, after = population(1), population(2, hurt=[1, 3])
    found = exemplars(before, after)
    rows = found.confusions()
    frame = found.frame()
    lost = frame[frame["label"] == frame["baseline_mode"]]
    assert rows["images"].sum() == len(lost) > 0
    assert (rows["label"] != rows["after"]).all()
    assert rows.groupby("label")["of_lost"].sum().to_numpy() == pytest.approx(1)
    first = rows.iloc[0]
    same = (lost["label"] == first["label"]) & (lost["compressed_mode"] == first["after"])
    assert first["images"] == same.sum()


def test_by_class():
    found = exemplars(population(1, empty=[2]), population(2, empty=[2], hurt=[3]))
    table = found.by_class()
    assert table["pies"].sum() == len(found.index)
    assert table["pies"].idxmax() == 3
    assert np.isnan(table.loc[2, "share"])
    assert table.loc[3, "share"] == table.loc[3, "pies"] / 50
