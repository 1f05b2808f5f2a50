"""Slices: what is found and claimed in studies of known truth, and what a slice is."""

import numpy as np
import pandas as pd
import pytest

from tests.builders.nightly import and_nightly, noise, seeds
from tests.builders.refusals import assert_refused
from tests.extensions.slices.simulated import World, outcome, overlap
from tfaudit import Limits, Predictions, features, gate
from tfaudit.extensions.slices.declaration import findings
from tfaudit.extensions.slices.descriptions import coded, described
from tfaudit.extensions.slices.slices import slices
from tfaudit.stats.changes import group_changes
from tfaudit.stats.contingency import paired_interval

WORLD = World(members=3)
STUDY = WORLD.study(0, 0.2)


@pytest.fixture(scope="module")
def found():
    return slices(*STUDY[:3])


def test_the_planted_slice_is_claimed_and_its_loss_is_that_of_its_tested_images(found):
    dense, compressed, _, planted = STUDY
    first = found.frame().iloc[0]
    assert first["verdict"] == "worse than average"
    assert overlap(found.slice_of == 1, planted) > 0.8
    tested = (found.slice_of == 1) & found.tested
    sides = [side.right()[:, found.tested] for side in (dense, compressed)]
    change = group_changes(*sides, tested[found.tested].astype(int), 2, paired=True).absolute
    assert first["examples"] == tested.sum()
    assert first["change_pp"] == pytest.approx(100 * change.value[1])
    assert first["accuracy_before"] == pytest.approx(dense.right()[:, tested].mean())
    assert first["change_low_pp"] < first["change_pp"] < first["change_high_pp"]
    assert f"class {dense.labels[planted][0]}" in first["description"]
    (finding,) = findings("int8", found)
    assert finding.startswith(f"int8: slice 1 ({first['description']}) loses")
    assert found.summary()["worse_than_average"] == 1


def test_halves_are_equal_in_every_class_and_the_seed_decides(found):
    dense, compressed, points, _ = STUDY
    of_class = np.bincount(dense.labels, found.tested)
    assert (np.abs(of_class - np.bincount(dense.labels) / 2) <= 0.5).all()
    again, other = (slices(dense, compressed, points, seed=seed) for seed in (0, 1))
    pd.testing.assert_frame_equal(again.frame(), found.frame())
    assert (other.tested != found.tested).any()


def test_the_tested_half_takes_no_part_in_the_search(found):
    dense, compressed, points, _ = STUDY
    other = np.where(found.tested, (dense.top1 + 1) % 10, compressed.top1)
    lost = Predictions.from_top1(dense.labels, other, parents=dense.members)
    assert (slices(dense, lost, points).slice_of == found.slice_of).all()


def test_clusters_of_images_stay_together():
    dense, compressed, points, _ = World(images=2000).study(0, 0.1)
    films = np.arange(2000) // 4
    found = slices(dense.clustered(films), compressed, points)
    assert set(np.bincount(films, found.tested)) == {0, 4}
    assert found.notes == (
        "Intervals are over 500 clusters of the 2,000 examples, not over single ones.",
    )


def test_facts_describe_slices_and_are_candidates():
    labels = np.arange(4000) % 2
    rng = np.random.default_rng(0)
    night = rng.random(4000) < 0.1
    after = np.where(night & (labels == 1) & (rng.random(4000) < 0.5), 0, labels)
    pair = [Predictions.from_top1(labels, side) for side in (labels, after)]
    facts = pd.DataFrame({"time": np.where(night, "night", "day"), "noise": rng.random(4000)})
    found = slices(*pair, rng.normal(size=(4000, 3)), facts=facts)  # features that tell nothing
    assert found.frame()["description"][0] == "class 1, time night"
    assert found.frame()["verdict"][0] == "worse than average"
    assert found.images(1)[0] in np.flatnonzero(night & (after != labels))


def test_descriptions_name_what_is_frequent_inside():
    labels = np.array([0, 0, 1, 1, 1, 1])
    dense = Predictions.from_top1(labels, [0, 1, 1, 1, 1, 1], class_names=["cat", "dog"])
    known = coded(pd.DataFrame({"light": [0.1, np.nan, *np.linspace(0.8, 0.9, 4)]}), dense)
    assert known["light"][1][-1] == "(missing)"
    assert described(labels == 0, known) == (
        "class cat, light (missing) 50 %, light lowest quarter 50 %"
    )
    assert described(labels == 0, coded(None, dense)) == "class cat, prediction dog 50 %"
    assert described(labels >= 0, known) == "no value stands out"


def test_models_that_are_equal_have_no_claim_and_few_images_no_error():
    dense, _, points, _ = World(images=300).study(0, 0)
    found = slices(dense, dense, points)
    assert (found.frame()["change_pp"] == 0).all()
    assert not [*findings("int8", found)]
    few = Predictions.from_top1([0, 1], [0, 1])
    assert found.summary()["worst_change_pp"] is None
    assert slices(few, few, [[0.0], [1.0]]).frame().empty


def test_bad_input_is_one_line():
    dense, compressed, points, _ = World(images=100).study(0, 0)
    assert_refused(r"features: got shape \(99, 64\)", slices, dense, compressed, points[1:])
    assert_refused("features: got 'NaN or infinity'", slices, dense, compressed, points * np.nan)
    several = Predictions.from_top1(dense.labels, compressed.top1.repeat(2, 0))
    assert_refused("compressed: got 2 members against", slices, dense, several, points)
    short = pd.DataFrame({"a": [1]})
    assert_refused("facts: got 1 rows", slices, dense, compressed, points, facts=short)


@pytest.mark.parametrize(("limit", "outcome"), [(5, "fail"), (28, "cannot judge"), (60, "pass")])
def test_the_gate_judges_the_worst_slice_by_the_images_tested(limit, outcome):
    dense, compressed, points, _ = World().study(0, 0.3)
    found = slices(dense, compressed, points)
    limits = Limits(slice_drop_pp=limit)
    (check,) = gate(dense, compressed, limits, slices=found).checks
    worst = int(found.frame()["change_pp"].argmin())
    tested = found.groups == worst + 1
    right = [side.right()[0, tested] for side in (dense, compressed)]
    lost, won = (right[0] & ~right[1]).sum(), (~right[0] & right[1]).sum()
    low, high = paired_interval([lost], [won], [tested.sum()])
    assert (check.outcome, check.value) == (
        outcome,
        pytest.approx(-found.frame()["change_pp"].min()),
    )
    assert (check.low, check.high) == pytest.approx((-100 * high[0], -100 * low[0]))
    assert check.reason.startswith(
        f"Accuracy in slice {worst + 1} ({found.frame()['description'][worst]}"
    )


def test_without_slices_their_limit_cannot_be_judged_and_populations_have_their_intervals():
    dense, compressed = STUDY[:2]
    (unknown,) = gate(dense, compressed, Limits(slice_drop_pp=5)).checks
    assert unknown.outcome == "cannot judge"
    assert unknown.reason.startswith("Slices are unknown")
    found = slices(*STUDY[:3])
    (check,) = gate(dense, compressed, Limits(slice_drop_pp=5), slices=found).checks
    assert (check.outcome, check.value) == ("fail", pytest.approx(-found.frame()["change_pp"][0]))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("world", "studies"),
    and_nightly(
        [(World(members=10), 20)],
        [(World(), 300), (World(members=3), 300), (World(members=10), 300)],
    ),
)
def test_a_slice_of_two_percent_that_loses_ten_points_is_found(world, studies):
    hits = np.mean([outcome(world, seed, 0.1)[1] for seed in seeds(studies)])
    print(f"{world}: found in {hits:.3f}")
    assert hits >= 0.8 - noise(0.8, studies)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("world", "studies"),
    and_nightly([(World(images=4000), 40)], [(World(), 400), (World(members=3), 400)]),
)
def test_without_a_slice_that_loses_more_few_studies_claim_one(world, studies):
    claims = np.mean([outcome(world, seed, 0.0)[0] for seed in seeds(studies)])
    print(f"{world}: claimed in {claims:.3f}")
    assert claims <= 0.05 + noise(0.05, studies)


def test_features_are_what_the_last_kernel_takes(rng):
    import keras

    inner = keras.Sequential([keras.Input((4, 4, 2)), keras.layers.Conv2D(3, 2, activation="relu")])
    pool = keras.layers.GlobalAveragePooling2D()
    model = keras.Sequential([keras.Input((4, 4, 2)), inner, pool, keras.layers.Dense(5)])
    nested = keras.Sequential([keras.Input((4, 4, 2)), model, keras.layers.Softmax()])
    images = rng.random((7, 4, 4, 2)).astype(np.float32)
    expected = inner.predict(images, verbose=0).mean((1, 2))
    for whole in (model, nested):
        taken = features(whole, images)
        assert taken.dtype == np.float16
        np.testing.assert_allclose(taken, expected, rtol=2e-3, atol=1e-4)
    of_places = keras.Sequential([keras.Input((4, 4, 2)), keras.layers.Conv2D(5, 4)])
    np.testing.assert_allclose(features(of_places, images), images.mean((1, 2)), rtol=2e-3)
    assert_refused("model: got a flatbuffer", features, b"", images)
    bare = keras.Sequential([keras.Input((4,)), keras.layers.Softmax()])
    assert_refused("model: got a model without kernels", features, bare, images)
