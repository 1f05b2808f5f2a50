"""Imported predictions as a study on disk: they are read back as they were written."""

import dataclasses
import re

import pandas as pd
import pyarrow.parquet as pq
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tests.builders.populations import population
from tests.builders.refusals import assert_refused
from tfaudit import InputError, Predictions, Study, Training, open_store
from tfaudit.analysis.recommendation import recommendation
from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.audits.gate.limits import Limits
from tfaudit.outlets.html import write_report
from tfaudit.store.external import import_predictions
from tfaudit.store.files import lock
from tfaudit.store.judging import Judging
from tfaudit.store.store import Missing
from tfaudit.study.variants import ImportedPredictions

HOSTILE = (
    "../../etc",
    "a/b",
    "ä" * 200,
    "dense",
    "<script>alert(1)</script>",
    "CON .",
    "variant=x",
)


def named(predictions, members):
    return Predictions(
        predictions.labels, predictions.ranked, predictions.probabilities, members=members
    )


@pytest.fixture
def baseline():
    return population(0, members=4)


def test_predictions_are_read_back_as_they_were_imported(tmp_path, baseline):
    after, fewer = population(1, members=4, hurt=[2]), population(2, members=2, ranks=1)
    import_predictions(
        tmp_path,
        baseline,
        {"int 8": after, "p": fewer},
        name="mine",
        model="LeNet",
        dataset="photos",
    )
    store = open_store(tmp_path)
    assert (store.study.name, store.study.model, store.study.dataset) == ("mine", "LeNet", "photos")
    assert store.study.training is None
    assert [variant.title for variant in store.study.all_variants] == ["baseline", "int 8", "p"]
    for key, expected in zip(store.variants, (baseline, after, fewer), strict=True):
        predictions = store.predictions(key)
        assert_array_equal(predictions.labels, expected.labels)
        assert_array_equal(predictions.ranked, expected.ranked)
        assert_allclose(predictions.probabilities, expected.probabilities, rtol=1e-6)
        assert predictions.class_names == expected.class_names
        assert predictions.example_ids.tolist() == [str(i) for i in expected.example_ids]
    assert all(store.is_complete("dense", member) for member in range(4))
    top1 = Predictions.from_top1(baseline.labels, baseline.top1)
    store = import_predictions(tmp_path / "top1", top1, {"x": top1}, name="mine")
    assert store.predictions("x").probabilities is None


def test_the_file_and_how_it_was_judged_are_kept(tmp_path, baseline):
    """The file moves with the directory that holds it; one that changed later is not the one that was judged."""
    directory = tmp_path / "one"
    directory.mkdir()
    (directory / "int8.tflite").write_bytes(b"int8")
    judging = Judging(0.025, Limits(overall_drop_pp=30), ("int 8",), "int 8")
    files = {"int 8": directory / "int8.tflite"}
    before = Predictions.from_top1(baseline.labels, baseline.labels)
    import_predictions(
        directory, before, {"int 8": before}, name="mine", files=files, judging=judging
    )
    moved = directory.rename(tmp_path / "two")
    audit = StudyAudit.open(moved)
    assert audit.data.store.judging.sequence == (audit.verdict().best,)
    assert (audit.data.alpha, audit.verdict().limits) == (0.025, judging.limits)

    def told():
        advice = recommendation(audit, audit.verdict())
        return dict(advice.facts)["file"], advice.path

    path = moved / "int8.tflite"
    assert told() == (str(path), path)
    path.write_bytes(b"other")
    assert told() == (f"{path}, which has changed since it was judged", None)
    path.unlink()
    assert told() == ("int8.tflite, which is missing", None)


def test_members_of_one_name_stay_together(tmp_path, baseline):
    before = named(baseline, ["s7", "s1", "s3", "s5"])
    after = named(population(1, members=3), ["s5", "s7", "s9"])
    store = import_predictions(tmp_path, before, {"x": after}, name="mine")
    assert store.predictions("dense").members == (0, 1, 2, 3)
    predictions = store.predictions("x")
    assert predictions.members == (0, 3, 4)
    assert_array_equal(predictions.top1[1], after.top1[0])
    names = [store.record("x", member)["name"] for member in predictions.members]
    assert names == ["s7", "s5", "s9"]


def test_the_audit_uses_sizes_pairs_groups_and_images(tmp_path, baseline):
    facts = pd.DataFrame(
        {"bytes": {"baseline": 400, "x": 100}, "sparsity": {"x": 0.9}, "colour": {"x": 1}}
    )
    groups = pd.DataFrame({"writer": ["w1", "w2"] * 100})
    images = [bytes([i]) for i in range(200)]
    after = population(1, members=4)
    store = import_predictions(
        tmp_path,
        baseline,
        {"x": after},
        name="mine",
        facts=facts,
        groups=groups,
        images=images,
        paired=["x"],
    )
    table = StudyAudit.read(store, permutations=0).summary.frame().set_index("variant")
    assert table["bytes"].tolist() == [400, 100]
    assert table.loc["x", "sparsity"] == 0.9
    assert pd.isna(table.loc["dense", "sparsity"])
    assert store.examples()["writer"].tolist() == groups["writer"].tolist()
    assert store.examples()["image"].tolist() == images
    assert open_store(tmp_path).study.variant("x").parent == "dense"


@pytest.mark.slow
def test_remarks_on_the_examples_stand_among_the_notes_and_are_sealed(tmp_path, baseline):
    remark = "2 unreadable images are left out: cat/<b>.jpg, dog/1.png."
    store = import_predictions(
        tmp_path / "s", baseline, {"p": population(1, members=4)}, name="m", remarks=[remark]
    )
    assert store.remarks() == (remark,)
    audit = StudyAudit.read(store, permutations=0)
    assert remark in audit.summary.notes
    assert remark not in audit.verdict().alerts
    assert "cat/&lt;b&gt;.jpg, dog/1.png." in write_report(audit).read_text()
    table = pq.read_table(tmp_path / "s/examples/test.parquet")
    changed = {**table.schema.metadata, b"remarks": b'["none is left out"]'}
    pq.write_table(table.replace_schema_metadata(changed), tmp_path / "s/examples/test.parquet")
    assert_refused("a damaged file", store.examples)


def test_hostile_names_are_titles_and_never_paths(tmp_path, baseline):
    compressed = dict.fromkeys(HOSTILE, baseline)
    store = import_predictions(tmp_path / "s", baseline, compressed, name="<b>mine</b>")
    assert tuple(variant.title for variant in store.study.variants) == HOSTILE
    assert len(store.variants) == 1 + len(HOSTILE)
    assert {path.name for path in tmp_path.iterdir()} == {"s"}
    for key in store.variants:
        assert (tmp_path / "s/members" / key).is_dir()
        assert len(key) < 80
    for name in (" ", "a\nb"):
        expected = re.escape(f"name: got {name!r}, expected printable text")
        assert_refused(expected, ImportedPredictions, name)


def test_the_same_study_is_replaced_and_another_is_not_touched(tmp_path, baseline):
    import_predictions(tmp_path, baseline, {"x": baseline}, name="mine")
    fewer = population(3, members=2)
    import_predictions(tmp_path, baseline, {"x": fewer}, name="mine")
    predictions = open_store(tmp_path).predictions("x")
    assert_array_equal(predictions.ranked, fewer.ranked)
    for changes in ({"name": "yours"}, {"name": "mine", "model": "another"}):
        assert_refused(
            r"holds another study: its .* another directory",
            import_predictions,
            tmp_path,
            baseline,
            {"x": baseline},
            **changes,
        )
    assert_array_equal(open_store(tmp_path).predictions("x").ranked, fewer.ranked)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"compressed": {}}, "compressed: got {}, expected at least one variant"),
        (
            {"compressed": {"x": population(0, examples=10)}},
            "compressed: got 10 examples, expected 200",
        ),
        (
            {"compressed": {"INT8": population(0), "int8": population(0)}},
            "expected variants that differ",
        ),
        ({"images": [b""]}, "images: got 1 images, expected 200"),
        ({"groups": {"a": [1]}}, "groups: got 1 rows, expected 200"),
        ({"groups": {"label": [1] * 200}}, "groups: got a column 'label', expected other names"),
        (
            {"groups": {1: [1] * 200}},
            "groups: got columns called [1], expected distinct names of text",
        ),
        ({"groups": {"a": [1, "x"] * 100}}, "groups: got object values in column 'a'"),
        ({"paired": ["y"]}, "paired: got 'y', expected names of variants: x"),
    ],
)
def test_bad_input_leaves_nothing_behind(tmp_path, baseline, changes, message):
    if "groups" in changes:
        changes = {"groups": pd.DataFrame(changes["groups"])}
    options = {"compressed": {"x": baseline}, "name": "mine"} | changes
    with pytest.raises(InputError) as caught:
        import_predictions(tmp_path / "s", baseline, **options)
    assert message in str(caught.value)
    assert not (tmp_path / "s").exists()


def test_folders_of_no_study_are_never_removed(tmp_path, baseline):
    (tmp_path / "examples").mkdir()
    (tmp_path / "examples/mine.txt").write_text("mine")
    assert_refused(
        "which holds examples and no study, expected a new directory",
        import_predictions,
        tmp_path,
        baseline,
        {"int8": baseline},
        name="s",
    )
    assert [path.name for path in tmp_path.rglob("*")] == ["examples", "mine.txt"]


def test_a_directory_that_cannot_be_used(tmp_path, baseline):
    (tmp_path / "taken").touch()
    assert_refused(
        "taken, which cannot be written",
        import_predictions,
        tmp_path / "taken",
        baseline,
        {"x": baseline},
        name="mine",
    )
    with lock(tmp_path / "held"), pytest.raises(InputError, match="in use by another"):
        import_predictions(tmp_path / "held", baseline, {"x": baseline}, name="mine")


def test_imported_predictions_cannot_be_run(tmp_path, baseline):
    study = import_predictions(tmp_path, baseline, {"x": baseline}, name="mine").study
    for ask in (lambda: study.planned_training, study.smoke):
        assert_refused(
            "got 'mine', which holds imported predictions, expected a study with a training", ask
        )
    assert Study.from_json(study.to_json()) == study
    assert dataclasses.replace(study, training=Training(epochs=1)).all_variants[0].title == "dense"


def test_a_lost_record_of_an_imported_member_is_told(tmp_path, baseline):
    store = import_predictions(tmp_path, baseline, {"int8": population(2, members=3)}, name="mine")
    key = store.variants[1]
    assert store.missing() == ()
    record = store.directory / store.member_path(key, 1, "member.json")
    record.write_bytes(record.read_bytes()[:40])
    again = open_store(tmp_path)
    assert again.missing() == (Missing(key, 1, "test", "damaged"),)
    assert (
        StudyAudit.read(again, permutations=0)
        .summary.notes[0]
        .startswith("int8: 2 of 3 members are complete; 1 damaged")
    )
    record.unlink()
    assert open_store(tmp_path).missing() == (Missing(key, 1, "test", "missing"),)
