"""The store: what counts, what does not, and damaged or full disks."""

import datetime
import errno
import json

import filelock
import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from numpy.testing import assert_array_equal

from tests.builders.refusals import assert_refused
from tests.builders.small_stores import (
    LABELS,
    flips,
    forge,
    random_ranks,
    reseal,
    save_examples,
    save_member,
    small_study,
)
from tfaudit import InputError, Pruned, Training, open_store
from tfaudit.stats.ranking import RankedClasses
from tfaudit.store.files import lock
from tfaudit.store.members import read_sealed_json
from tfaudit.store.parquet import examples_seal
from tfaudit.store.store import FORMAT, Missing, Store

STUDY = small_study()
DAMAGED = r"got a damaged file, .*test.parquet"


@pytest.fixture
def store(tmp_path, rng):
    store = Store.create(tmp_path / "study", STUDY, {"tfaudit": "0"})
    save_examples(store)
    for member in range(3):
        save_member(store, "dense", member, random_ranks(rng))
    return store


@pytest.fixture
def examples(store):
    return store.directory / "examples/test.parquet"


@pytest.fixture
def record(store):
    return store.directory / store.member_path("dense", 0, "member.json")


def test_predictions_are_read_back_as_they_were_written(store, rng):
    written = {member: random_ranks(rng) for member in (0, 2)}
    for member, ranked in written.items():
        save_member(store, "magnitude-0.5", member, ranked, sparsity=0.5)
    predictions = open_store(store.directory).predictions("magnitude-0.5")
    assert_array_equal(predictions.ranked, [each.classes for each in written.values()])
    assert_array_equal(predictions.labels, LABELS)
    assert predictions.members == (0, 2)
    assert predictions.class_names == tuple("abcd")
    assert predictions.example_ids[3] == "e3"
    assert store.variants == ("dense", "magnitude-0.5")
    assert store.splits == ("test",)
    assert store.record("magnitude-0.5", 2)["sparsity"] == 0.5
    save_member(store, "magnitude-0.5", 1, RankedClasses(written[0].classes))
    assert store.predictions("magnitude-0.5").probabilities is None, "one member has none"


def test_any_parquet_engine_reads_the_predictions(store):
    folder = store.directory / "predictions"
    frame = pq.read_table(folder).to_pandas()  # hive partitions split= and variant= become columns
    assert set(frame.columns) == {"ranked", "probability", "split", "variant"}
    assert len(frame) == 3 * 40


@pytest.mark.parametrize("damage", ["truncate", "flip", "remove"])
def test_a_damaged_prediction_file_does_not_count_and_the_error_names_the_remedy(store, damage):
    path = store.directory / store.prediction_path("dense", 1)
    content = path.read_bytes()
    if damage == "truncate":
        path.write_bytes(content[: len(content) // 2])
    elif damage == "flip":
        next(flips(path, 50))
    else:
        path.unlink()
    assert not store.is_complete("dense", 1)
    assert store.is_complete("dense", 0)
    expected = r"001.parquet, expected .*`tfaudit run` with the same recipe and directory makes it"
    assert_refused(expected, store.predictions, "dense")


def test_a_flipped_byte_of_the_examples_is_noticed_or_changes_nothing(store, examples):
    before, noticed = store.examples(), 0
    for _ in flips(examples, 5):
        try:
            after = store.examples()
        except InputError:
            noticed += 1
        else:
            pd.testing.assert_frame_equal(after, before)
            assert after.attrs == before.attrs
    assert noticed > examples.stat().st_size / 10


def test_a_seal_changes_with_what_is_displayed(store, examples):
    def saved(image=b"png", **changes):
        save_examples(store, images=[*[b"png"] * 39, image], **changes)
        with examples.open("rb") as file:
            return examples_seal(file)

    assert saved() == saved() == saved(groups=GROUPS)
    others = {
        saved(),
        saved(labels=LABELS[::-1]),
        saved(names="abce"),
        saved(image=b"jpg"),
        saved(image=b""),
    }
    assert len(others) == 5


@pytest.mark.parametrize("value", [True, None, "png", datetime.datetime(2020, 1, 1)], ids=str)
def test_images_that_are_no_bytes_are_damaged(store, examples, value):
    forge(examples, "image", [value] * 40)
    for read in (store.examples, lambda: store.images("test", [0])):
        assert_refused(DAMAGED, read)


def test_forged_columns_are_noticed_where_they_are_read(store, examples):
    save_examples(store, groups=GROUPS)
    forge(examples, "age", GROUPS["age"][::-1].tolist())
    assert_refused(DAMAGED, store.examples)
    assert store.predictions("dense").num_examples == 40  # which rests on labels and ids alone
    save_examples(store)
    forge(examples, "image", [b"jpg"] * 40)
    assert len(store.examples(images=False)) == 40
    assert_refused(DAMAGED, store.examples)
    pq.write_table(pq.read_table(examples).replace_schema_metadata(), examples)
    assert_refused(DAMAGED, store.examples, images=False)


def test_examples_of_another_split_or_time_are_noticed(store, examples):
    save_examples(store, "imagenet_a")
    before = examples.read_bytes()
    examples.write_bytes(examples.with_stem("imagenet_a").read_bytes())
    assert_refused(DAMAGED, store.examples)
    save_examples(store, labels=LABELS[::-1])
    assert store.damage("dense", 0) == "its predictions are of different examples"
    expected = r"got predictions of examples that examples/test.parquet does not hold"
    assert_refused(expected, store.predictions, "dense")
    examples.write_bytes(before)
    assert store.predictions("dense").num_members == 3


def test_images_are_read_in_any_order_from_their_row_groups_only(store, examples):
    photographs = [bytes([i]) * 300_000 for i in range(40)]  # 12 MB
    save_examples(store, images=photographs)
    assert pq.ParquetFile(examples).num_row_groups > 3
    assert store.images("test", [39, 0, 7, 0]) == [photographs[i] for i in (39, 0, 7, 0)]
    assert store.images("test", []) == []
    assert list(store.examples()["image"]) == photographs
    pq.write_table(pq.read_table(examples), examples, write_page_checksum=True)
    assert pq.ParquetFile(examples).num_row_groups == 1
    assert store.images("test", [39, 7]) == [photographs[39], photographs[7]]


def test_a_flipped_byte_of_the_images_is_noticed_or_changes_nothing(store, examples):
    pictures = [bytes([i]) * 70_000 + b"end" for i in range(40)]
    save_examples(store, images=pictures)
    noticed = 0
    for _ in flips(examples, 7):
        try:
            assert store.images("test", [25, 3]) == [pictures[25], pictures[3]]
        except InputError:
            noticed += 1
    assert noticed > examples.stat().st_size / 40


@pytest.mark.parametrize("positions", [[40], [0, -1]])
def test_missing_images(store, positions):
    expected = r"positions: got .*, expected 0 to 39 of the examples in .*test.parquet"
    assert_refused(expected, store.images, "test", positions)
    expected = r"examples: got a file that cannot be read \(No such file.*other.parquet"
    assert_refused(expected, store.images, "other", [0])


GROUPS = pd.DataFrame(
    {
        "writer": pd.Categorical(["w1", "w2", None, "w3"] * 10),
        "age": [1, 2, 3, 4] * 10,
        "tilt": [0.5, np.nan, 1, 2] * 10,
        "male": [True, False] * 20,
    }
)


def test_groups_are_read_back_as_they_were_written(store):
    before = store.examples()
    assert before.attrs["groups"] == []
    save_examples(store, groups=GROUPS)
    after = store.examples()
    assert after.attrs["groups"] == [*GROUPS]
    pd.testing.assert_frame_equal(after[["age", "tilt", "male"]], GROUPS[["age", "tilt", "male"]])
    assert after["writer"].isna().tolist() == GROUPS["writer"].isna().tolist()
    assert after["writer"].dropna().tolist() == GROUPS["writer"].dropna().tolist()
    pd.testing.assert_frame_equal(after[[*before]], before)
    assert [*store.examples(images=False, groups=False)] == ["example", "label"]


def test_facts_about_classes_are_read_back_and_damage_is_noticed(store):
    assert store.table("classes") is None
    facts = pd.DataFrame({"class": list("abcd"), "train_examples": [3, 4, 5, 6]})
    facts["entropy_bits"] = 0.1
    store.save_table("classes", facts)
    pd.testing.assert_frame_equal(store.table("classes"), facts)
    path = store.directory / "examples/classes.parquet"
    path.write_bytes(path.read_bytes()[:-9])
    assert_refused(r"got a damaged file, .*classes.parquet", store.table, "classes")


def test_a_member_without_its_model_file_does_not_count(store):
    (store.directory / store.member_path("dense", 0, "model.keras")).unlink()
    assert not store.is_complete("dense", 0)


@pytest.mark.parametrize(
    "changes",
    [
        *({"files": files} for files in (None, [], "x", {"x": None}, {"x": {}, "y": 3})),
        *({"bytes": value} for value in ("", {}, [1], 10**400, float("inf"))),
        *("", "[]", "{", json.dumps({"status": "complete"})),
    ],
    ids=lambda changes: str(changes)[:20],
)
def test_a_record_that_is_damaged_or_of_other_types_does_not_count(store, record, changes):
    if isinstance(changes, str):
        record.write_text(changes)
    else:
        reseal(record, **changes)
    assert not store.is_complete("dense", 0)
    assert store.members("dense") == store.predictions("dense").members == (1, 2)
    assert store.origin("dense", 0) == {"model": None, "seed": None}
    record.write_text(json.dumps({"status": "failed"}))
    assert store.failures() == {}


@pytest.mark.parametrize(
    "text", [b"[" * 100_000, b'{"a": "\\ud800"}', b'{"a": ' + b"9" * 5000 + b"}"]
)
def test_json_that_no_writer_of_tfaudit_would_write(store, text):
    with pytest.raises(ValueError, match=r"nested|surrogates|Exceeds"):
        read_sealed_json(text)
    (store.directory / "study.json").write_bytes(text)
    assert_refused("got a damaged file", open_store, store.directory)


@pytest.mark.parametrize(
    "change",
    [
        {"population": None},
        {"name": 3},
        {"model_options": "x"},
        {"variants": ["x"]},
        {"top_k": "5"},
    ],
)
def test_a_description_of_a_study_with_values_of_other_types(store, change):
    study = store.directory / "study.json"
    reseal(study, study=read_sealed_json(study.read_bytes())["study"] | change)
    assert_refused(
        "study: got a description with a wrong or missing field", open_store, store.directory
    )


def test_a_failure_is_recorded_with_its_traceback_until_the_member_is_made(store, rng):
    store.save_failure("magnitude-0.5", 1, "Traceback ...\nValueError: boom")
    assert store.failures() == {("magnitude-0.5", 1): "Traceback ...\nValueError: boom"}
    assert store.members("magnitude-0.5") == ()
    save_member(store, "magnitude-0.5", 1, random_ranks(rng))
    assert store.failures() == {}
    assert store.members("magnitude-0.5") == (1,)


def test_population_and_variants_may_grow_and_nothing_else_may_change(store):
    Store.create(store.directory, small_study(population=5), {})
    assert open_store(store.directory).study.population == 5
    expected = r"population: got 3, expected 5 or more, which .* already holds"
    assert_refused(expected, Store.create, store.directory, STUDY, {})
    other = small_study(population=5, training=Training(epochs=2))
    assert_refused("holds another study: its training", Store.create, store.directory, other, {})
    fewer = small_study(population=5, variants=(Pruned(0.25),))
    more = small_study(population=5, variants=(Pruned(0.25), *STUDY.variants))
    lost = f"holds another study: it has the variant {STUDY.variants[-1].key}, which is missing now"
    assert_refused(lost, Store.create, store.directory, fewer, {})
    kept = store.variants
    assert Store.create(store.directory, more, {}).variants == kept
    assert open_store(store.directory).study.variants == more.variants


def test_a_study_without_members_is_replaced(tmp_path):
    Store.create(tmp_path, small_study(model="misspelt", population=9), {})
    Store.create(tmp_path, STUDY, {})
    assert open_store(tmp_path).study == STUDY


def test_missing_files_are_one_line(store, tmp_path):
    for read, expected in (
        (
            lambda: store.predictions("int8"),
            r"variant: got 'int8', expected 'dense' or 'magnitude-0\.5'",
        ),
        (lambda: store.predictions("magnitude-0.5"), "without a complete member"),
        (lambda: store.examples("train"), "cannot be read"),
        (lambda: open_store(tmp_path), "holds no study"),
    ):
        assert_refused(expected, read)
    study = store.directory / "study.json"
    for other in (FORMAT - 1, FORMAT + 1):
        reseal(study, format=other)
        assert_refused(
            f"with the format {other}, expected {FORMAT}, which", open_store, store.directory
        )
    study.write_text("{")
    assert_refused("got a damaged file", open_store, store.directory)


def test_a_changed_digit_of_a_record_or_of_the_study_is_noticed(store, record):
    unmade = tuple(Missing("magnitude-0.5", n, "test", "missing") for n in range(3))
    assert store.missing() == unmade
    record.write_text(record.read_text().replace('"bytes": ', '"bytes": 1', 1))
    assert store.members("dense") == (1, 2)
    assert store.missing()[0] == Missing("dense", 0, "test", "damaged")
    record.unlink()
    assert store.missing()[0] == Missing("dense", 0, "test", "missing")
    store.save_failure("dense", 0, "Traceback")
    assert store.missing()[0] == Missing("dense", 0, "test", "failed")
    study = store.directory / "study.json"
    study.write_text(study.read_text().replace('"population": 3', '"population": 2'))
    assert_refused("got a damaged file", open_store, store.directory)


def test_unfinished_files_of_a_killed_writer_are_removed(store):
    for name in ("members/dense/000/.member.json", ".study.json", ".report.html"):
        (store.directory / f"{name}.4242.part").write_text("{")
    Store.create(store.directory, STUDY, {})
    assert not list(store.directory.rglob("*.part"))
    assert store.is_complete("dense", 0)


def test_one_run_at_a_time(tmp_path):
    with (
        lock(tmp_path / "new"),
        pytest.raises(InputError, match="in use by another"),
        lock(tmp_path / "new"),
    ):
        pass
    with lock(tmp_path / "new"):
        pass


def test_a_full_disk_leaves_nothing_half_written(small_disk):
    store = Store.create(small_disk, STUDY, {})
    store.write("a", b"old")
    with pytest.raises(OSError, match="No space left"):
        store.write("a", bytes(10**6))
    assert (small_disk / "a").read_bytes() == b"old"
    assert sorted(p.name for p in small_disk.iterdir()) == ["a", "study.json"]


def test_a_directory_that_was_moved_is_not_made_again(store):
    place = store.directory
    place.rename(place.with_name("elsewhere"))
    with pytest.raises(FileNotFoundError, match="moved or deleted"):
        store.write("members/dense/000/x", b"x")
    assert not place.exists()


@pytest.mark.parametrize(
    "problem", [OSError(errno.ENOLCK, "No locks available"), NotImplementedError()]
)
def test_a_file_system_without_locks_is_one_line(tmp_path, monkeypatch, problem):
    def acquire(*_, **__):
        raise problem

    monkeypatch.setattr(filelock.FileLock, "acquire", acquire)
    with (
        pytest.raises(
            InputError, match=r"directory: got .*, on a file system without locks, expected"
        ),
        lock(tmp_path),
    ):
        pass
