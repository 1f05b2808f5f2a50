"""A kept result is found again for the same inputs, and never for others; what goes wrong costs time and no more."""

import dataclasses
import multiprocessing
import re
from concurrent.futures import ProcessPoolExecutor

import pytest

from tests.builders.studies import make_study
from tfaudit.analysis import cache
from tfaudit.analysis.cache import cached
from tfaudit.store.store import open_store


@dataclasses.dataclass(frozen=True)
class Number:
    value: int


class Counted:
    """Computes a number and counts how often."""

    def __init__(self, value=1):
        self.value, self.times = value, 0

    def __call__(self):
        self.times += 1
        return Number(self.value)


@pytest.fixture
def store(tmp_path):
    return make_study(tmp_path / "study", members=1)


def files(store):
    return sorted(path.name for path in (store.directory / "audit").iterdir())


def test_other_inputs_supersede_it_and_nothing_else(store):
    for name in ("a", "a.b", "a-b", "ba"):
        cached(store, name, [1], Number, Counted())
    before = files(store)
    (mine,) = (name for name in before if re.fullmatch(r"a\.\w{32}\.zip", name))
    (store.directory / f"audit/.{mine}.123.part").touch()  # of a writer that was killed
    assert cached(store, "a", [2], Number, Counted(2)) == Number(2)
    assert set(before) - set(files(store)) == {mine}
    assert len(files(store)) == len(before)


def test_a_result_copied_over_another_is_not_believed(store):
    assert cached(store, "a", [1], Number, Counted(1)) == Number(1)
    assert cached(store, "b", [1], Number, Counted(2)) == Number(2)
    first, second = (store.directory / "audit" / name for name in files(store))
    second.write_bytes(first.read_bytes())
    assert cached(store, "b", [1], Number, Counted(3)) == Number(3)


def test_other_code_supersedes_it(store, monkeypatch):
    cached(store, "a", [1], Number, Counted())
    monkeypatch.setattr(cache, "_sources", lambda: ["other code"])
    assert cached(store, "a", [1], Number, Counted(2)) == Number(2)
    assert len(files(store)) == 1


@pytest.mark.parametrize("content", [b"", b"PK", b"x" * 5000])
def test_a_damaged_one_is_computed_anew(store, content):
    cached(store, "a", [1], Number, Counted())
    (name,) = files(store)
    (store.directory / "audit" / name).write_bytes(content)
    compute = Counted()
    assert (
        cached(store, "a", [1], Number, compute)
        == cached(store, "a", [1], Number, compute)
        == Number(1)
    )
    assert compute.times == 1


def test_a_full_disk_keeps_nothing(small_disk):
    store = make_study(small_disk / "study", members=1, name="full")
    big = dataclasses.make_dataclass("Big", [("text", str)], frozen=True)
    assert cached(store, "a", [1], big, lambda: big("x" * 300_000)).text[:1] == "x"
    assert not files(store)


def _keep_many(directory):
    store = open_store(directory)
    return [cached(store, "a", [i % 3], Number, Counted(i % 3)).value for i in range(60)]


@pytest.mark.slow
def test_two_processes_at_once(store):
    with ProcessPoolExecutor(
        2, multiprocessing.get_context("spawn")
    ) as pool:  # unlike a Pool, ends if a process does
        found = list(pool.map(_keep_many, [store.directory] * 2))
    assert found == 2 * [[i % 3 for i in range(60)]]
