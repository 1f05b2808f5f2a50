"""CIFAR-10's Python version: its kinds, its order, and pickles that ask for code."""

import os
import pickle

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from tests.builders.python2_pickles import python2_pickle
from tests.builders.refusals import assert_refused
from tfaudit.datasets.loading import load_dataset
from tfaudit.datasets.prepare import prepare
from tfaudit.recipes._cifar_subclasses import CLASSES, KIND, SYNONYMS, kind_of

TERMS = ("fighter", "cruiser", "skylark", "tabby")


def batch(names):
    """A batch with one image of each of the first classes, whose planes hold 0, 1 and 2."""
    data = np.tile(np.repeat(np.arange(3, dtype=np.uint8), 1024), (len(names), 1))
    return {
        b"data": data,
        b"labels": [i % 10 for i in range(len(names))],
        b"filenames": [n.encode() for n in names],
    }


@pytest.fixture
def folder(tmp_path):
    """The six files; keys are byte strings, as Python 2 wrote them."""
    place = tmp_path / "python"
    place.mkdir()
    for number, name in enumerate((*(f"data_batch_{i}" for i in range(1, 6)), "test_batch")):
        names = [f"{term}_s_00{number}00{i}.png" for i, term in enumerate(TERMS)]
        (place / name).write_bytes(python2_pickle(batch(names)))
    return place


@pytest.mark.slow
def test_kinds_are_groups_and_the_order_is_that_of_cifar10(folder, small_cifar):
    for name, source in (("cifar10_subclasses", folder), ("cifar10", small_cifar)):
        prepare(name, source)
    ours, plain = (load_dataset(name, "train") for name in ("cifar10_subclasses", "cifar10"))
    assert ours.class_names == plain.class_names == CLASSES
    for attribute in ("images", "labels", "example_ids"):
        assert_array_equal(getattr(ours, attribute), getattr(plain, attribute))
    kinds = ("fighter aircraft", "police cruiser", "skylark", "tabby cat")
    assert ours.groups["kind"].tolist() == [kinds[label] for label in ours.labels]


def test_words_of_one_meaning_are_one_kind():
    assert {
        kind_of(f"{term}_s_000001.png", 9) for term in ("tipper", "dump_truck", "tip_truck")
    } == {"dump truck"}
    assert kind_of("moose_s_002000.png", 4) == kind_of("alces_alces_000033.png", 4) == "elk"
    assert (kind_of("cruiser_s_1.png", 1), kind_of("cruiser_s_1.png", 8)) == (
        "police cruiser",
        "cruiser",
    )
    assert kind_of("hydrofoil_s_000078.png", 8) == "hydrofoil"
    terms = SYNONYMS.split()
    assert len(terms) == len(set(terms))
    assert all(name.isidentifier() for name in KIND)


class Harm:
    def __init__(self, place):
        self.place = place

    def __reduce__(self):
        return os.mkdir, (str(self.place),)


def test_a_pickle_that_asks_for_code_is_refused(tmp_path, folder):
    (folder / "data_batch_3").write_bytes(pickle.dumps({"data": Harm(tmp_path / "harm")}))
    assert_refused(
        r"data_batch_3: got an unreadable file \(it asks for posix.mkdir\)",
        prepare,
        "cifar10_subclasses",
        folder,
    )
    assert not (tmp_path / "harm").exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"data": np.zeros((1, 3072))}, "got other arrays, expected images"),
        ({"labels": [0, 1, 2, 10]}, "got other arrays, expected images"),
        ({"filenames": ["cat_1.png"]}, "got an unreadable file"),
    ],
)
def test_damaged_files_are_one_line(folder, change, message):
    content = {
        key.decode(): value for key, value in batch([f"{term}_1.png" for term in TERMS]).items()
    }
    content["filenames"] = [name.decode() for name in content["filenames"]]
    (folder / "test_batch").write_bytes(pickle.dumps(content | change))
    assert_refused(message, prepare, "cifar10_subclasses", folder)


def test_missing_files_are_named(folder):
    (folder / "data_batch_2").unlink()
    assert_refused(
        "a folder without data_batch_2, expected the files of CIFAR-10's Python version",
        prepare,
        "cifar10_subclasses",
        folder,
    )
