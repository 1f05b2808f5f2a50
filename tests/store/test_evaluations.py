"""Evaluations in a store: which count, which are stale or damaged, and which members were evaluated."""

import dataclasses

import numpy as np
import pyarrow.parquet as pq
import pytest

from tfaudit import InputError, Pruned, Study, Training, open_store
from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.population.plan import condition_jobs, missing_evaluations
from tfaudit.stats.ranking import RankedClasses
from tfaudit.store.parquet import prediction_bytes
from tfaudit.store.store import Missing, Store

N = 40
STUDY = Study(
    name="s",
    dataset="digits",
    model="digits_convnet",
    training=Training(epochs=1),
    variants=(Pruned(0.5),),
    population=3,
    corruptions=("fog", "snow"),
    severities=(1, 3),
    benchmarks=("imagenet_a",),
)
FOG, SNOW, SET = STUDY.conditions[1], STUDY.conditions[2], STUDY.conditions[-1]


def save_member(store, variant, member, model=b"weights"):
    ranked = np.tile([0, 1], (N, 1))
    files = {
        store.prediction_path(variant, member): prediction_bytes(RankedClasses(ranked)),
        store.member_path(variant, member, "model.keras"): model,
    }
    store.save_member(variant, member, files, {"seed": member})


def save_examples(store, split="test"):
    store.save_examples(
        split, np.arange(N) % 4, [f"e{i}" for i in range(N)], ["a", "b", "c", "d"], [b""] * N
    )


def evaluate(store, condition, variant, member, rng):
    ranked = rng.permuted(np.tile(np.arange(4, dtype=np.int32), (N, 1)), axis=1)[:, :2]
    probabilities = rng.random((N, 2), np.float32)
    store.evaluations.save(variant, member, condition.split, RankedClasses(ranked, probabilities))
    return ranked, probabilities


@pytest.fixture
def store(tmp_path):
    store = Store.create(tmp_path / "study", STUDY, {})
    save_examples(store)
    for variant in ("dense", "magnitude-0.5"):
        for member in range(3):
            save_member(store, variant, member)
    return store


def test_evaluations_are_read_back_for_the_members_that_were_evaluated(store, rng):
    written = [evaluate(store, FOG, "dense", member, rng) for member in (0, 2)]
    predictions = open_store(store.directory).predictions("dense", FOG.split)
    np.testing.assert_array_equal(predictions.ranked, [ranked for ranked, _ in written])
    np.testing.assert_array_equal(predictions.probabilities, [shares for _, shares in written])
    np.testing.assert_array_equal(predictions.labels, np.arange(N) % 4)
    assert predictions.members == (0, 2)
    assert predictions.example_ids[3] == "e3"
    assert store.predictions("dense").members == (0, 1, 2)
    assert store.conditions == (FOG,)
    with pytest.raises(
        InputError,
        match=r"split: got 'fog-3', which has not been predicted with 'magnitude-0\.5', expected .* run the study",
    ):
        store.predictions("magnitude-0.5", FOG.split)
    with pytest.raises(
        InputError, match="split: got 'snow-1', which has not been predicted with 'dense'"
    ):
        store.predictions("dense", SNOW.split)


def test_any_parquet_engine_reads_them_with_the_others(store, rng):
    evaluate(store, FOG, "dense", 1, rng)
    frame = pq.read_table(store.directory / "predictions", columns=["ranked", "split"]).to_pandas()
    assert frame["split"].value_counts().to_dict() == {"test": 6 * N, "fog-3": N}


@pytest.mark.slow
def test_a_flipped_bit_is_noticed_or_changes_nothing(store, rng):
    ranked, probabilities = evaluate(store, FOG, "dense", 0, rng)
    path = store.directory / store.prediction_path("dense", 0, FOG.split)
    content, noticed = path.read_bytes(), 0
    for position in range(0, len(content), 7):
        path.write_bytes(
            content[:position] + bytes([content[position] ^ 0x10]) + content[position + 1 :]
        )
        try:
            predictions = store.predictions("dense", FOG.split)
        except InputError:
            noticed += 1
            assert not store.evaluations.is_complete("dense", 0, FOG.split)
        else:
            np.testing.assert_array_equal(predictions.ranked[0], ranked)
            np.testing.assert_array_equal(predictions.probabilities[0], probabilities)
    assert noticed > len(content) / 14


@pytest.mark.parametrize("damage", [lambda b: b"", lambda b: b[: len(b) // 2], lambda b: b"PAR1"])
def test_a_file_that_a_full_disk_or_a_crash_cut_short_does_not_count(store, rng, damage):
    evaluate(store, FOG, "dense", 0, rng)
    path = store.directory / store.prediction_path("dense", 0, FOG.split)
    path.write_bytes(damage(path.read_bytes()))
    assert store.conditions == ()
    assert ("dense", 0) in missing_evaluations(store, FOG)
    with pytest.raises(
        InputError,
        match=r"predictions: got a damaged file, .*000.parquet, expected .* `tfaudit run`",
    ):
        store.predictions("dense", FOG.split)


def test_an_evaluation_is_stale_once_the_members_model_changes(store, rng):
    evaluate(store, FOG, "dense", 0, rng)
    evaluate(store, FOG, "dense", 1, rng)
    save_member(store, "dense", 0, b"weights")  # the same file again
    assert store.predictions("dense", FOG.split).members == (0, 1)
    save_member(store, "dense", 0, b"other weights")
    assert ("dense", 0) in missing_evaluations(store, FOG)
    assert ("dense", 1) not in missing_evaluations(store, FOG)
    with pytest.raises(
        InputError,
        match=r"of another model than this member, .*000.parquet, expected .* `tfaudit run`",
    ):
        store.predictions("dense", FOG.split)


def test_predictions_that_were_not_made_as_evaluations_do_not_count(store):
    """Such as a copied file of the test set."""
    path = store.directory / store.prediction_path("dense", 0, FOG.split)
    path.parent.mkdir(parents=True)
    path.write_bytes((store.directory / store.prediction_path("dense", 0)).read_bytes())
    assert store.conditions == ()
    with pytest.raises(InputError, match="got a damaged file"):
        store.predictions("dense", FOG.split)


def test_a_benchmark_set_has_its_own_examples(store, rng):
    with pytest.raises(
        InputError, match=r"examples: got a file that cannot be read .*imagenet_a.parquet"
    ):
        store.examples(SET.split)
    assert len(missing_evaluations(store, SET)) == 6
    save_examples(store, SET.split)
    evaluate(store, SET, "dense", 0, rng)
    assert len(missing_evaluations(store, SET)) == 5
    assert store.predictions("dense", SET.split).members == (0,)
    store.save_examples(SET.split, np.zeros(3, int), list("abc"), ["a"], [b""] * 3)
    assert len(missing_evaluations(store, SET)) == 6, (
        "the number of examples differs from the evaluated ones"
    )
    with pytest.raises(InputError, match="got predictions of 40 examples instead of 3"):
        store.predictions("dense", SET.split)


def test_a_computed_corruption_has_the_test_sets_examples(store):
    assert store.examples(FOG.split, images=False).equals(store.examples("test", images=False))
    with pytest.raises(InputError, match=r"cannot be read .*fog-5\.parquet"):
        store.examples("fog-5")


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
    (store.directory / store.prediction_path("dense", 1, FOG.split)).unlink()
    assert store.missing(FOG.split) == (Missing("dense", 1, FOG.split, "missing"),)
    title = next(condition.title for condition in STUDY.conditions if condition.split == FOG.split)
    notes = StudyAudit.read(store, permutations=0).summary.notes
    assert f"{title}: no predictions of dense, member 1." in notes
