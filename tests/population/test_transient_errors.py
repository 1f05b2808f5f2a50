"""What may pass is tried again, what is wrong in the code is not: exceptions, and what a worker answers to them."""

import urllib.error

import pytest
import tensorflow as tf

from tests.builders.own_code import write_own
from tfaudit import InputError, Study, run
from tfaudit.compress.litert.conversion_error import ConversionError
from tfaudit.population.transient_errors import is_transient
from tfaudit.population.worker import _JobRunner


class OutOfMemoryError(RuntimeError):
    """As PyTorch's."""


def raised_from(cause):
    try:
        raise RuntimeError("cannot read") from cause
    except RuntimeError as problem:
        return problem


PASSING = [
    FileNotFoundError("x"),
    TimeoutError(),
    urllib.error.URLError("no route"),
    MemoryError(),
    KeyboardInterrupt(),
    SystemExit(1),
    tf.errors.ResourceExhaustedError(None, None, "out of memory"),
    tf.errors.UnavailableError(None, None, "gone"),
    OutOfMemoryError("CUDA"),
    raised_from(ConnectionResetError()),
]
LASTING = [
    TypeError("fit() takes 2 arguments"),
    ValueError("shapes"),
    KeyError("x"),
    ImportError("no module"),
    InputError("images", "a", "b"),
    ConversionError("model", "no kernel", "another"),
    RuntimeError("boom"),
    tf.errors.InvalidArgumentError(None, None, "shapes"),
    raised_from(ValueError("x")),
]


@pytest.mark.parametrize(
    "problem", [*PASSING, *LASTING], ids=lambda problem: type(problem).__name__
)
def test_a_worker_says_which_errors_would_come_again(problem, tmp_path):
    class Members:
        def prepare(self, key):
            pass

        def make(self, key, member, report):
            raise problem

    runner = _JobRunner(str(tmp_path))
    runner._members = Members()
    answer = runner.run("member", "dense", 0, print)
    assert is_transient(problem) is (problem in PASSING)
    assert answer.get("lasting", False) is (problem in LASTING)
    assert type(problem).__name__ in answer["error"]


@pytest.mark.slow
def test_a_training_function_that_raises_is_called_once_and_one_that_lacks_a_file_again(
    tmp_path, warm_workers
):
    for error, attempts in (("ValueError", 1), ("FileNotFoundError", 3)):
        calls = tmp_path / f"{error}.txt"
        body = f"    with open({str(calls)!r}, 'a') as file:\n        file.write('call ')\n    raise {error}('a.csv')\n"
        path = write_own(
            tmp_path / error, more=f"\n\ndef fail(model, train, *, seed, callbacks):\n{body}"
        )
        settings = {"model": f"{path}:build", "dataset": f"{path}:load", "training": f"{path}:fail"}
        store = run(Study(name="s", population=1, **settings), tmp_path / error / "out", workers=1)
        assert calls.read_text().split() == ["call"] * attempts
        assert f"{error}: a.csv" in store.failures()["dense", 0]
