"""Evaluations in a store: which count, which are stale or damaged, and which members were evaluated."""

import dataclasses

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from tests.builders.refusals import assert_refused
from tests.builders.small_stores import (
    LABELS,
    random_ranks,
    save_examples,
    save_member,
    small_study,
)
from tfaudit import open_store
from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.population.plan import condition_jobs, missing_evaluations
from tfaudit.stats.ranking import RankedClasses
from tfaudit.store.store import Missing, Store

N = len(LABELS)
STUDY = small_study(corruptions=("fog", "snow"), severities=(1, 3), benchmarks=("imagenet_a",))
FOG, SNOW, SET = STUDY.conditions[1], STUDY.conditions[2], STUDY.conditions[-1]
SAME = RankedClasses(np.tile([0, 1], (N, 1)))


def evaluate(store, condition, variant, member, rng):
    ranked = random_ranks(rng)
    store.evaluations.save(variant, member, condition.split, ranked)
    return ranked


def file(store, member=0):
    return store.directory / store.prediction_path("dense", member, FOG.split)


@pytest.fixture
def store(tmp_path):
    store = Store.create(tmp_path / "study", STUDY, {})
    save_examples(store)
    for variant in ("dense", "magnitude-0.5"):
        for member in range(3):
            save_member(store, variant, member, SAME)
    return store


def test_evaluations_are_read_back_for_the_members_that_were_evaluated(store, rng):
    written = [evaluate(store, FOG, "dense", member, rng) for member in (0, 2)]
    predictions = open_store(store.directory).predictions("dense", FOG.split)
    assert_array_equal(predictions.ranked, [each.classes for each in written])
    assert_array_equal(predictions.probabilities, [each.probabilities for each in written])
    assert_array_equal(predictions.labels, LABELS)
    assert predictions.members == (0, 2)
    assert predictions.example_ids[3] == "e3"
    assert store.predictions("dense").members == (0, 1, 2)
    assert store.conditions == (FOG,)
    assert_refused(
        r"split: got 'fog-3', which has not been predicted with 'magnitude-0\.5', expected .* run the study",
        store.predictions,
        "magnitude-0.5",
        FOG.split,
    )
    assert_refused(
        "split: got 'snow-1', which has not been predicted with 'dense'",
        store.predictions,
        "dense",
        SNOW.split,
    )


@pytest.mark.parametrize("damage", [lambda b: b"", lambda b: b[: len(b) // 2], lambda b: b"PAR1"])
def test_a_file_that_a_full_disk_or_a_crash_cut_short_does_not_count(store, rng, damage):
    evaluate(store, FOG, "dense", 0, rng)
    file(store).write_bytes(damage(file(store).read_bytes()))
    assert store.conditions == ()
    assert ("dense", 0) in missing_evaluations(store, FOG)
    assert_refused(
        r"predictions: got a damaged file, .*000.parquet, expected .* `tfaudit run`",
        store.predictions,
        "dense",
        FOG.split,
    )


def test_an_evaluation_is_stale_once_the_members_model_changes(store, rng):
    evaluate(store, FOG, "dense", 0, rng)
    evaluate(store, FOG, "dense", 1, rng)
    save_member(store, "dense", 0, SAME)  # the same file again
    assert store.predictions("dense", FOG.split).members == (0, 1)
    save_member(store, "dense", 0, SAME, b"other weights")
    assert ("dense", 0) in missing_evaluations(store, FOG)
    assert ("dense", 1) not in missing_evaluations(store, FOG)
    assert_refused(
        r"of another model than this member, .*000.parquet, expected .* `tfaudit run`",
        store.predictions,
        "dense",
        FOG.split,
    )


def test_a_benchmark_set_has_its_own_examples(store, rng):
    assert_refused(
        r"examples: got a file that cannot be read .*imagenet_a.parquet", store.examples, SET.split
    )
    assert len(missing_evaluations(store, SET)) == 6
    save_examples(store, SET.split)
    evaluate(store, SET, "dense", 0, rng)
    assert len(missing_evaluations(store, SET)) == 5
    assert store.predictions("dense", SET.split).members == (0,)
    save_examples(store, SET.split, labels=np.zeros(3, int))
    assert len(missing_evaluations(store, SET)) == 6, (
        "the number of examples differs from the evaluated ones"
    )
    assert_refused(
        "got predictions of 40 examples instead of 3", store.predictions, "dense", SET.split
    )


def test_a_computed_corruption_has_the_test_sets_examples(store):
    assert store.examples(FOG.split, images=False).equals(store.examples("test", images=False))
    assert_refused(r"cannot be read .*fog-5\.parquet", store.examples, "fog-5")


def test_jobs_depend_on_variants_members_and_existing_evaluations(store, rng):
    assert [(job.condition, job.size) for job in condition_jobs(store)] == [
        (c, 6) for c in STUDY.conditions
    ]
    for variant, member in store.evaluated_members()[:-1]:
        evaluate(store, FOG, variant, member, rng)
    assert {job.condition: job.size for job in condition_jobs(store)}[FOG] == 1
    evaluate(store, FOG, "magnitude-0.5", 2, rng)
    assert FOG not in {job.condition for job in condition_jobs(store)}
    few = dataclasses.replace(STUDY, corrupted_members=2, corrupted_variants=())
    assert Store(store.directory, few).evaluated_members() == [("dense", 0), ("dense", 1)]
    one = dataclasses.replace(STUDY, corrupted_variants=("magnitude-0.5",))
    assert len(Store(store.directory, one).evaluated_members()) == 6, (
        "the baseline is always among them"
    )
    store.save_failure("dense", 1, "boom")
    assert ("dense", 1) not in store.evaluated_members()


def test_existing_members_may_get_further_conditions(store, rng):
    evaluate(store, FOG, "dense", 0, rng)
    other = dataclasses.replace(
        STUDY, corruptions=("fog",), severities=(3, 5), benchmarks=(), corrupted_members=1
    )
    again = Store.create(store.directory, other, {})
    assert again.conditions == (FOG,)
    assert [(job.condition, job.size) for job in condition_jobs(again)] == [
        (FOG, 1),
        (("fog", 5), 2),
    ]
    assert open_store(store.directory).study == other


def test_a_failure_is_recorded_until_the_condition_is_evaluated(store):
    store.evaluations.save_failure(SET.split, "Traceback ...\nValueError: boom")
    store.evaluations.save_failure("contrast-1", "of a condition that the study no longer has")
    assert store.evaluations.failures() == {SET.split: "Traceback ...\nValueError: boom"}
    store.evaluations.delete_failure(SET.split)
    store.evaluations.delete_failure(FOG.split)
    assert store.evaluations.failures() == {}


def test_a_lost_evaluation_is_told(store, rng):
    assert store.missing(FOG.split) == ()  # none has been made
    for variant, member in store.evaluated_members():
        evaluate(store, FOG, variant, member, rng)
    assert store.missing(FOG.split) == ()
    file(store, 1).unlink()
    assert store.missing(FOG.split) == (Missing("dense", 1, FOG.split, "missing"),)
    notes = StudyAudit.read(store, permutations=0).summary.notes
    assert f"{FOG.title}: no predictions of dense, member 1." in notes


def test_predictions_in_anothers_place_do_not_count(store, rng):
    """Such files have as many predictions as the right ones, and may even be of the same model."""
    evaluate(store, FOG, "dense", 0, rng)
    evaluate(store, SNOW, "dense", 0, rng)
    evaluate(store, FOG, "dense", 1, rng)
    snow = store.directory / store.prediction_path("dense", 0, SNOW.split)
    for place, split, member in ((snow, SNOW.split, 0), (file(store, 1), FOG.split, 1)):
        place.write_bytes(file(store).read_bytes())
        assert not store.evaluations.is_complete("dense", member, split)
        assert_refused(
            f"predictions of variant dense, member 0, split {FOG.split}, in another's place, {place}",
            store.evaluations.read,
            "dense",
            member,
            split,
        )
