"""Data that are loaded again are compared with those of the study, before anything is joined to them by position."""

import contextlib
import dataclasses
import re

import numpy as np
import pytest

from tests.builders.refusals import assert_refused
from tests.builders.small_stores import random_ranks, save_examples, save_member, small_study
from tfaudit import Pruned, load_dataset, run
from tfaudit.datasets.fingerprint import Fingerprint
from tfaudit.errors import Notice
from tfaudit.population.evaluation import Evaluator
from tfaudit.population.member import MemberMaker
from tfaudit.population.stored_examples import load_splits, load_test
from tfaudit.store.store import Store

TRAIN, TEST = (load_dataset("digits", split).take(80) for split in ("train", "test"))
REVERSED = np.arange(80)[::-1]
DATA = {"train": Fingerprint.of(TRAIN), "test": Fingerprint.of(TEST)}
SEED_NEEDED = r"expected the same examples in the same order at every call \(a seed for what"


@pytest.mark.parametrize(
    ("splits", "message"),
    [
        ((TRAIN.select(REVERSED, split="train"), TEST), "other labels from .*'train'."),
        ((TRAIN, TEST.take(60)), "another number of examples from .*'test'."),
        ((TEST, TEST), "other labels from .*'train'."),
        (
            (TRAIN, dataclasses.replace(TEST, class_names=tuple("9876543210"))),
            "other class names from own.py:load\\('test'\\)",
        ),
    ],
)
def test_a_worker_refuses_other_data(tmp_path, monkeypatch, splits, message):
    study = dataclasses.replace(small_study(), dataset=f"{tmp_path}/own.py:load")
    monkeypatch.setattr("tfaudit.population.member.require_unchanged", lambda study: None)
    store = Store.create(tmp_path, study, {}, data=DATA)
    assert_refused(f"dataset: got {message} than when .*{SEED_NEEDED}", MemberMaker, store, splits)
    if splits[1] is not TEST:
        assert_refused(message, Evaluator, store, splits[1])
    MemberMaker(store, (TRAIN, TEST))
    Evaluator(store, TEST)


def test_a_study_goes_on_with_the_same_data_only(tmp_path, rng):
    store = Store.create(tmp_path, small_study(), {}, data=DATA)
    other = DATA | {"train": DATA["test"]}
    Store.create(tmp_path, small_study(), {}, data=other)  # without members it is begun anew
    assert store.data == other
    save_examples(store)
    save_member(store, "dense", 0, random_ranks(rng))
    more = small_study(variants=(Pruned(0.5), Pruned(0.9)))
    refused = f"dataset: got other labels from 'digits' than .*{SEED_NEEDED}.*another directory for other data"
    assert_refused(refused, Store.create, tmp_path, more, {}, data=DATA)
    assert len(store.study.variants) == 1
    Store.create(tmp_path, more, {}, data=DATA, accept_changed_code=True)
    assert Store.create(tmp_path, more, {}).data == DATA  # kept where it is not known


SPLIT_AT_EVERY_CALL = """
import numpy as np
from tfaudit import load_dataset

np.random.seed(0)

def load(split):
    digits = load_dataset("digits", "test")
    rows = np.random.permutation(600)
    some = rows[:450] if split == "train" else rows[450:]
    return digits.images[some], digits.labels[some]
"""


def test_test_examples_that_are_trained_on_are_noted(tmp_path, monkeypatch):
    (tmp_path / "own.py").write_text(SPLIT_AT_EVERY_CALL)

    @contextlib.contextmanager
    def engine(*_):
        yield lambda jobs: (job for job in ())

    monkeypatch.setattr("tfaudit.population.local.local_engine", engine)
    study = dataclasses.replace(small_study(), dataset=f"{tmp_path}/own.py:load")
    noted = r"1\d\d of the 150 test examples are training examples, too"
    with pytest.warns(Notice, match=noted):
        store = run(study, tmp_path / "out")
    assert re.match(noted, store.remarks()[0])
    assert store.data.keys() == {"train", "test"}


def test_a_limit_takes_examples_from_all_parts_of_a_function(tmp_path):
    labels = "np.arange(80) // 20"
    sorted_by_class = f"def load(split):\n    return np.eye(4)[{labels}], {labels}\n"
    (tmp_path / "own.py").write_text(f"import numpy as np\n\n{sorted_by_class}")
    study = dataclasses.replace(small_study(limit=12), dataset=f"{tmp_path}/own.py:load")
    for split in (*load_splits(study), load_test(study)):
        assert np.bincount(split.labels).tolist() == [3, 3, 3, 3]
    assert load_test(small_study(limit=12)).example_ids.tolist() == TEST.example_ids[:12].tolist()
