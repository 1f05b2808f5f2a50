"""What a study keeps of its data set: images, groups, and the facts of the classes."""

import contextlib
import dataclasses
import io

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from PIL import Image
from scipy import stats

from tests.builders.image_streams import image_sets
from tests.builders.small_stores import small_study
from tfaudit import open_store, run
from tfaudit.datasets.dataset import Dataset
from tfaudit.population.stored_examples import class_facts, store_class_facts, store_examples
from tfaudit.store.store import Store


def small_set(count=12, **changes):
    random = np.random.default_rng(0)
    facts = {
        "name": "small",
        "split": "train",
        "class_names": ("a", "b", "empty"),
        "image_shape": (4, 4, 1),
        "num_examples": count,
        "inputs": random.integers(0, 256, (count, 4, 4, 1), dtype=np.uint8),
        "known_labels": np.arange(count) % 2,
        "known_ids": np.array([f"id-{i}" for i in range(count)]),
        "known_groups": {"writer": np.arange(count) // 3},
    }
    return Dataset(**facts | changes)


def as_stream(dataset):
    examples = (dataset.images, dataset.labels, dataset.example_ids)
    return image_sets(dataset.name, dataset.split, dataset.class_names, *examples)[1]


def test_class_facts_count_and_measure_the_training_images():
    train = small_set()
    table = class_facts(train).set_index("class")
    assert table["train_examples"].tolist() == [6, 6, 0]
    entropies = [
        stats.entropy(np.unique(image, return_counts=True)[1], base=2)
        for image in train.images[::2]
    ]
    assert table.loc["a", "entropy_bits"] == pytest.approx(np.mean(entropies))
    assert np.isnan(table.loc["empty", "entropy_bits"])


def test_images_groups_and_facts_are_stored_once(tmp_path):
    store, test = Store.create(tmp_path, small_study(), {}), small_set(split="test")
    store_examples(store, test)
    store_class_facts(store, small_set())
    examples = store.examples("test")
    assert examples.attrs["groups"] == ["writer"]
    assert_array_equal(examples["writer"], np.arange(12) // 3)
    image = Image.open(io.BytesIO(examples["image"][3]))
    assert_array_equal(np.asarray(image), test.images[3, ..., 0])
    pd.testing.assert_frame_equal(
        store.table("classes"), class_facts(small_set()), check_dtype=False
    )
    before = (tmp_path / "examples/test.parquet").stat().st_mtime_ns
    store_examples(store, test)
    assert (tmp_path / "examples/test.parquet").stat().st_mtime_ns == before
    store_class_facts(store, small_set(15))
    assert store.table("classes")["train_examples"].tolist() == [8, 7, 0]


def test_a_streaming_set_gives_the_same_images_and_no_entropy(tmp_path):
    store, test = Store.create(tmp_path, small_study(), {}), small_set(split="test")
    store_examples(store, as_stream(test))
    store_class_facts(store, as_stream(small_set()))
    image = Image.open(io.BytesIO(store.examples("test")["image"][3]))
    assert_array_equal(np.asarray(image), test.images[3, ..., 0])
    assert store.table("classes")["entropy_bits"].isna().all()
    assert store.table("classes")["train_examples"].tolist() == [6, 6, 0]


def test_no_stream_is_read_before_the_first_member(tmp_path, monkeypatch):
    """Training labels and thumbnails are made once, after the members; a run of a complete study makes neither."""
    happened, seals = [], []

    def noted(what, read):
        def reading(*arguments):
            happened.append(what)
            return read(*arguments)

        return reading

    @contextlib.contextmanager
    def engine(*_):
        def start(jobs):
            happened.append("members")
            seals.append(open_store(tmp_path).examples_seal())
            yield from ()

        yield start

    train, test = (as_stream(small_set(split=split)) for split in ("train", "test"))

    def splits(study):  # without what the last run has read
        labels = noted("labels", train.stream.read_groups)
        images = noted("thumbnails", test.stream.read)
        unread = noted("training images", train.stream.read)
        streams = (
            dataclasses.replace(train.stream, read=unread, read_groups=labels),
            dataclasses.replace(test.stream, read=images),
        )
        return tuple(
            dataclasses.replace(split, stream=stream)
            for split, stream in zip((train, test), streams, strict=True)
        )

    monkeypatch.setattr("tfaudit.population.local.local_engine", engine)
    monkeypatch.setattr("tfaudit.population.checked_study.load_splits", splits)
    store = run(small_study(), tmp_path)
    assert happened == ["members", "labels", "thumbnails"]
    assert store.table("classes")["train_examples"].tolist() == [6, 6, 0]
    first = Image.open(io.BytesIO(store.examples()["image"][0]))
    assert_array_equal(np.asarray(first), small_set().images[0, ..., 0])
    run(small_study(), tmp_path)
    assert happened == ["members", "labels", "thumbnails", "members"]
    assert seals == [store.examples_seal()] * 2  # members refer to the same examples


def test_copies_of_an_image_are_a_remark(tmp_path):
    once = small_set(split="test")
    positions = np.array([0, 1, 2, 0, 1, 5, 6, 7, 8, 9, 10, 11])
    twice = dataclasses.replace(once, inputs=once.images[positions], notes=("One note.",))
    store = Store.create(tmp_path, small_study(), {})
    store_examples(store, twice)
    note, copies = store.remarks()
    assert note == "One note."
    assert copies == "2 of the 12 examples are exact copies of others: copies count once."
    assert store.examples()["cluster"].tolist() == [0, 1, 2, 0, 1, *range(5, 12)]
    written = (tmp_path / "examples/test.parquet").stat().st_mtime_ns
    store_examples(store, twice)
    assert (tmp_path / "examples/test.parquet").stat().st_mtime_ns == written
    known = {"cluster": np.array([f"film {i}" for i in positions])}
    seal = store.examples_seal()
    store_examples(store, dataclasses.replace(twice, known_groups=known))
    assert store.remarks() == ("One note.", copies)
    assert store.examples_seal() == seal  # members made before remain members of these examples
