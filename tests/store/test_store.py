"""The store: what counts, what does not, and damaged or full disks."""

import dataclasses
import datetime
import errno
import json

import filelock
import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from tfaudit import InputError, Pruned, Study, Training, open_store
from tfaudit.stats.ranking import RankedClasses
from tfaudit.store.files import lock
from tfaudit.store.members import read_sealed_json, sealed_json
from tfaudit.store.parquet import examples_seal, prediction_bytes
from tfaudit.store.store import FORMAT, Missing, Store

STUDY = Study(
    name="s",
    dataset="digits",
    model="digits_convnet",
    training=Training(epochs=1),
    variants=(Pruned(0.5),),
    population=3,
)
LABELS = np.arange(40) % 4


def save(store, variant, member, rng, **facts):
    ranked = rng.permuted(np.tile(np.arange(4), (40, 1)), axis=1)[:, :2]
    path = store.prediction_path(variant, member)
    files = {
        path: prediction_bytes(RankedClasses(ranked, np.full((40, 2), 0.5))),
        store.member_path(variant, member, "x"): b"abc",
    }
    store.save_member(variant, member, files, facts)
    return ranked


@pytest.fixture
def store(tmp_path, rng):
    store = Store.create(tmp_path / "study", STUDY, {"tfaudit": "0"})
    store.save_examples(
        "test", LABELS, [f"e{i}" for i in range(40)], ["a", "b", "c", "<d>"], [b"png"] * 40
    )
    for member in range(3):
        save(store, "dense", member, rng)
    return store


def test_predictions_are_read_back_as_they_were_written(store, rng):
    ranked = np.stack(
        [save(store, "magnitude-0.5", member, rng, sparsity=0.5) for member in (0, 2)]
    )
    predictions = open_store(store.directory).predictions("magnitude-0.5")
    np.testing.assert_array_equal(predictions.ranked, ranked)
    np.testing.assert_array_equal(predictions.labels, LABELS)
    assert predictions.members == (0, 2)
    assert predictions.class_names == ("a", "b", "c", "<d>")
    assert predictions.example_ids[3] == "e3"
    assert store.variants == ("dense", "magnitude-0.5")
    assert store.splits == ("test",)
    assert store.record("magnitude-0.5", 2)["sparsity"] == 0.5


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
        path.write_bytes(content[:50] + bytes([content[50] ^ 1]) + content[51:])
    else:
        path.unlink()
    assert not store.is_complete("dense", 1)
    assert store.is_complete("dense", 0)
    with pytest.raises(
        InputError,
        match=r"001.parquet, expected .*`tfaudit run` with the same recipe and directory makes it again",
    ):
        store.predictions("dense")


def test_a_flipped_byte_of_the_examples_is_noticed_or_changes_nothing(store):
    path = store.directory / "examples/test.parquet"
    content, before = path.read_bytes(), store.examples()
    noticed = 0
    for position in range(0, len(content), 5):
        path.write_bytes(
            content[:position] + bytes([content[position] ^ 0x10]) + content[position + 1 :]
        )
        try:
            after = store.examples()
        except InputError:
            noticed += 1
        else:
            pd.testing.assert_frame_equal(after, before)
            assert after.attrs == before.attrs
    assert noticed > len(content) / 10


def seal(store):
    with (store.directory / "examples/test.parquet").open("rb") as file:
        return examples_seal(file)


def test_a_seal_changes_with_what_is_displayed(store):
    def saved(labels=LABELS, names="abcd", image=b"png", groups=None):
        ids = [f"e{i}" for i in range(40)]
        store.save_examples("test", labels, ids, list(names), [*[b"png"] * 39, image], groups)
        return seal(store)

    assert saved() == saved() == saved(groups=GROUPS)
    assert (
        len(
            {
                saved(),
                saved(LABELS[::-1]),
                saved(names="abce"),
                saved(image=b"jpg"),
                saved(image=b""),
            }
        )
        == 5
    )


def test_exchanged_images_are_noticed(store):
    path = store.directory / "examples/test.parquet"
    table = pq.read_table(path)
    pq.write_table(
        table.set_column(2, "image", [[b"jpg"] * 40]).replace_schema_metadata(
            table.schema.metadata
        ),
        path,
    )
    assert len(store.examples(images=False)) == 40
    with pytest.raises(InputError, match=r"got a damaged file, .*test.parquet"):
        store.examples()


@pytest.mark.parametrize("value", [True, None, "png", datetime.datetime(2020, 1, 1)], ids=str)
def test_images_that_are_no_bytes_are_damaged(store, value):
    path = store.directory / "examples/test.parquet"
    table = pq.read_table(path)
    pq.write_table(
        table.set_column(2, "image", [[value] * 40]).replace_schema_metadata(table.schema.metadata),
        path,
    )
    for read in (store.examples, lambda: store.images("test", [0])):
        with pytest.raises(InputError, match=r"got a damaged file, .*test.parquet"):
            read()


def test_examples_of_another_split_or_time_are_noticed(store):
    examples, ids, names = (
        store.directory / "examples",
        [f"e{i}" for i in range(40)],
        ["a", "b", "c", "<d>"],
    )
    store.save_examples("imagenet_a", LABELS, ids, names, [b"png"] * 40)
    before = (examples / "test.parquet").read_bytes()
    (examples / "test.parquet").write_bytes((examples / "imagenet_a.parquet").read_bytes())
    with pytest.raises(InputError, match=r"got a damaged file, .*test.parquet"):
        store.examples()
    store.save_examples("test", LABELS[::-1], ids, names, [b"png"] * 40)
    assert store.damage("dense", 0) == "its predictions are of other examples"
    with pytest.raises(
        InputError, match=r"got predictions of other examples than examples/test.parquet holds"
    ):
        store.predictions("dense")
    (examples / "test.parquet").write_bytes(before)
    assert store.predictions("dense").num_members == 3


def test_examples_without_notes_are_damaged(store):
    path = store.directory / "examples/test.parquet"
    pq.write_table(pq.read_table(path).replace_schema_metadata(), path)
    with pytest.raises(InputError, match=r"got a damaged file, .*test.parquet"):
        store.examples()


PHOTOGRAPHS = [bytes([i]) * 300_000 for i in range(40)]  # 12 MB: several row groups


def with_photographs(store):
    store.save_examples(
        "test", LABELS, [f"e{i}" for i in range(40)], ["a", "b", "c", "<d>"], PHOTOGRAPHS
    )
    return store.directory / "examples/test.parquet"


def test_images_are_read_in_any_order_from_their_row_groups_only(store):
    path = with_photographs(store)
    assert pq.ParquetFile(path).num_row_groups > 3
    assert store.images("test", [39, 0, 7, 0]) == [PHOTOGRAPHS[i] for i in (39, 0, 7, 0)]
    assert store.images("test", []) == []
    assert list(store.examples()["image"]) == PHOTOGRAPHS


def test_images_of_one_row_group_as_older_versions_wrote_it(store):
    path = with_photographs(store)
    pq.write_table(pq.read_table(path), path, write_page_checksum=True)
    assert pq.ParquetFile(path).num_row_groups == 1
    assert store.images("test", [39, 7]) == [PHOTOGRAPHS[39], PHOTOGRAPHS[7]]


def test_a_flipped_byte_of_the_images_is_noticed_or_changes_nothing(store):
    path = store.directory / "examples/test.parquet"
    pictures = [bytes([i]) * 70_000 + b"end" for i in range(40)]
    store.save_examples(
        "test", LABELS, [f"e{i}" for i in range(40)], ["a", "b", "c", "<d>"], pictures
    )
    content, noticed = path.read_bytes(), 0
    for position in range(0, len(content), 7):
        path.write_bytes(
            content[:position] + bytes([content[position] ^ 0x10]) + content[position + 1 :]
        )
        try:
            assert store.images("test", [25, 3]) == [pictures[25], pictures[3]]
        except InputError:
            noticed += 1
    assert noticed > len(content) / 40


@pytest.mark.parametrize("positions", [[40], [0, -1]])
def test_missing_images(store, positions):
    with pytest.raises(
        InputError, match=r"positions: got .*, expected 0 to 39 of the examples in .*test.parquet"
    ):
        store.images("test", positions)
    with pytest.raises(
        InputError, match=r"examples: got a file that cannot be read \(No such file.*other.parquet"
    ):
        store.images("other", [0])


def test_images_under_a_computed_condition_are_those_of_the_test_set(tmp_path):
    study = dataclasses.replace(STUDY, corruptions=("fog",), severities=(3,))
    store = Store.create(tmp_path / "foggy", study, {})
    store.save_examples(
        "test", LABELS, [f"e{i}" for i in range(40)], ["a", "b", "c", "d"], [b"png", *[b""] * 39]
    )
    assert store.images("fog-3", [1, 0]) == [b"", b"png"]


GROUPS = pd.DataFrame(
    {
        "writer": pd.Categorical(["w1", "w2", None, "w3"] * 10),
        "age": [1, 2, 3, 4] * 10,
        "tilt": [0.5, np.nan, 1, 2] * 10,
        "male": [True, False] * 20,
    }
)


def with_groups(store, groups=GROUPS):
    names = ["a", "b", "c", "<d>"]
    store.save_examples("test", LABELS, [f"e{i}" for i in range(40)], names, [b"png"] * 40, groups)
    return store


def test_groups_are_read_back_as_they_were_written(store):
    assert store.examples().attrs["groups"] == []
    before = store.examples()
    after = with_groups(store).examples()
    assert after.attrs["groups"] == [*GROUPS]
    pd.testing.assert_frame_equal(after[["age", "tilt", "male"]], GROUPS[["age", "tilt", "male"]])
    assert after["writer"].isna().tolist() == GROUPS["writer"].isna().tolist()
    assert after["writer"].dropna().tolist() == GROUPS["writer"].dropna().tolist()
    pd.testing.assert_frame_equal(after[[*before]], before)
    assert [*store.examples(images=False, groups=False)] == ["example", "label"]


def test_a_changed_group_is_noticed(store):
    path = store.directory / "examples/test.parquet"
    table = pq.read_table(with_groups(store).directory / "examples/test.parquet")
    column = table.column_names.index("age")
    changed = table.set_column(
        column, "age", table["age"].combine_chunks().take(list(range(39, -1, -1)))
    )
    pq.write_table(changed.replace_schema_metadata(table.schema.metadata), path)
    with pytest.raises(InputError, match=r"got a damaged file, .*test.parquet"):
        store.examples()
    assert store.predictions("dense").num_examples == 40  # which rests on labels and ids alone


def test_facts_about_classes_are_read_back_and_damage_is_noticed(store):
    assert store.table("classes") is None
    facts = pd.DataFrame(
        {"class": ["a", "b", "c", "<d>"], "train_examples": [3, 4, 5, 6], "entropy_bits": [0.1] * 4}
    )
    store.save_table("classes", facts)
    pd.testing.assert_frame_equal(store.table("classes"), facts)
    path = store.directory / "examples/classes.parquet"
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(InputError, match=r"got a damaged file, .*classes.parquet"):
        store.table("classes")


def test_predictions_without_probabilities(store, rng):
    save(store, "dense", 0, rng)
    ranked = rng.permuted(np.tile(np.arange(4), (40, 1)), axis=1)[:, :2]
    store.save_member(
        "dense", 1, {store.prediction_path("dense", 1): prediction_bytes(RankedClasses(ranked))}, {}
    )
    predictions = store.predictions("dense")
    assert predictions.probabilities is None
    np.testing.assert_array_equal(predictions.ranked[1], ranked)


def test_a_member_without_its_model_file_does_not_count(store):
    (store.directory / store.member_path("dense", 0, "x")).unlink()
    assert not store.is_complete("dense", 0)


def test_a_damaged_or_foreign_record_does_not_count(store):
    place = store.directory / store.member_path("dense", 0, "member.json")
    for text in ("", "[]", "{", json.dumps({"status": "complete"})):
        place.write_text(text)
        assert not store.is_complete("dense", 0)
        assert store.members("dense") == (1, 2)
        assert store.predictions("dense").members == (1, 2)


@pytest.mark.parametrize("files", [None, [], "x", {"x": None}, {"x": {}, "y": 3}])
def test_a_record_that_names_no_files_does_not_count(store, files):
    place = store.directory / store.member_path("dense", 0, "member.json")
    place.write_bytes(sealed_json(read_sealed_json(place.read_bytes()) | {"files": files}))
    assert store.members("dense") == (1, 2)
    assert store.origin("dense", 0) == {"model": None, "seed": None}
    place.write_text(json.dumps({"status": "failed"}))
    assert store.failures() == {}


@pytest.mark.parametrize("value", ["", {}, [1], 10**400, float("inf")])
def test_a_record_whose_facts_are_no_numbers_does_not_count(store, value):
    place = store.directory / store.member_path("dense", 0, "member.json")
    place.write_bytes(sealed_json(read_sealed_json(place.read_bytes()) | {"bytes": value}))
    assert store.members("dense") == (1, 2)


@pytest.mark.parametrize(
    "text", [b"[" * 100_000, b'{"a": "\\ud800"}', b'{"a": ' + b"9" * 5000 + b"}"]
)
def test_json_that_no_writer_of_tfaudit_would_write(store, text):
    with pytest.raises(ValueError, match=r"nested|surrogates|Exceeds"):
        read_sealed_json(text)
    (store.directory / "study.json").write_bytes(text)
    with pytest.raises(InputError, match="got a damaged file"):
        open_store(store.directory)


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
    content = read_sealed_json(study.read_bytes())
    study.write_bytes(sealed_json(content | {"study": content["study"] | change}))
    with pytest.raises(InputError, match="study: got a description with a wrong or missing field"):
        open_store(store.directory)


def test_a_failure_is_recorded_with_its_traceback_until_the_member_is_made(store, rng):
    store.save_failure("magnitude-0.5", 1, "Traceback ...\nValueError: boom")
    assert store.failures() == {("magnitude-0.5", 1): "Traceback ...\nValueError: boom"}
    assert store.members("magnitude-0.5") == ()
    save(store, "magnitude-0.5", 1, rng)
    assert store.failures() == {}
    assert store.members("magnitude-0.5") == (1,)


def test_the_population_may_grow_and_nothing_else_may_change(store):
    import dataclasses

    Store.create(store.directory, dataclasses.replace(STUDY, population=5), {})
    assert open_store(store.directory).study.population == 5
    with pytest.raises(
        InputError, match=r"population: got 3, expected 5 or more, which .* already holds"
    ):
        Store.create(store.directory, STUDY, {})
    other = dataclasses.replace(STUDY, population=5, training=Training(epochs=2))
    with pytest.raises(InputError, match="holds another study: its training"):
        Store.create(store.directory, other, {})


def test_a_study_without_members_is_replaced(tmp_path):
    import dataclasses

    Store.create(tmp_path, dataclasses.replace(STUDY, model="misspelt", population=9), {})
    Store.create(tmp_path, STUDY, {})
    assert open_store(tmp_path).study == STUDY


def test_missing_files_are_one_line(store, tmp_path):
    with pytest.raises(InputError, match=r"variant: got 'int8', expected dense, magnitude-0\.5"):
        store.predictions("int8")
    with pytest.raises(InputError, match="without a complete member"):
        store.predictions("magnitude-0.5")
    with pytest.raises(InputError, match="holds no study"):
        open_store(tmp_path)
    study = store.directory / "study.json"
    for other in (FORMAT - 1, FORMAT + 1):
        study.write_bytes(sealed_json(read_sealed_json(study.read_bytes()) | {"format": other}))
        with pytest.raises(InputError, match=f"with the format {other}, expected {FORMAT}, which"):
            open_store(store.directory)
    study.write_text("{")
    with pytest.raises(InputError, match="got a damaged file"):
        open_store(store.directory)
    with pytest.raises(InputError, match="cannot be read"):
        store.examples("train")


def test_a_changed_digit_of_a_record_or_of_the_study_is_noticed(store):
    record = store.directory / store.member_path("dense", 0, "member.json")
    text = record.read_text()
    assert store.missing() == tuple(
        Missing("magnitude-0.5", n, "test", "missing") for n in range(3)
    )
    record.write_text(text.replace('"bytes": ', '"bytes": 1', 1))
    assert store.members("dense") == (1, 2)
    assert store.missing()[0] == Missing("dense", 0, "test", "damaged")
    record.unlink()
    assert store.missing()[0] == Missing("dense", 0, "test", "missing")
    store.save_failure("dense", 0, "Traceback")
    assert store.missing()[0] == Missing("dense", 0, "test", "failed")
    study = store.directory / "study.json"
    study.write_text(study.read_text().replace('"population": 3', '"population": 2'))
    with pytest.raises(InputError, match="got a damaged file"):
        open_store(store.directory)


def test_unfinished_files_of_a_killed_writer_are_removed(store):
    places = [
        store.directory / name
        for name in ("members/dense/000/.member.json", ".study.json", ".report.html")
    ]
    left = [place.with_name(f"{place.name}.4242.part") for place in places]
    for part in left:
        part.write_text("{")
    Store.create(store.directory, STUDY, {})
    assert not any(part.exists() for part in left)
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
