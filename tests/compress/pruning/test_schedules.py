import subprocess
import sys

import pytest

from tests.builders.nightly import and_nightly
from tfaudit.compress.pruning import schedules
from tfaudit.errors import InputError


def updates(schedule, last):
    asked = [(step, *schedules.ask(schedule, step)) for step in range(last + 1)]
    return [(step, float(sparsity)) for step, due, sparsity in asked if due]


@pytest.mark.parametrize("done", [0, 40])
@pytest.mark.parametrize("steps", [1, 2, 3, 4, 5, 7, 99, 134, 135, 1000])
def test_a_planned_schedule_reaches_its_sparsity_in_the_run(done, steps):
    found = updates(schedules.planned(0.9, done=done, steps=steps), done + steps + 5)
    assert found[0][0] == done + 1
    assert found[-1][0] <= done + 1 + 0.75 * steps
    assert found[-1][1] == pytest.approx(0.9, abs=1e-7)
    assert len(found) <= 101
    assert [sparsity for _, sparsity in found] == sorted(sparsity for _, sparsity in found)


def test_a_planned_schedule_goes_on_from_a_sparsity():
    assert updates(schedules.planned(0.9, initial=0.5, steps=100), 2)[0] == (1, pytest.approx(0.5))


def test_polynomial_is_the_cubic_of_the_paper():
    for step, sparsity in updates(schedules.polynomial(0.1, 0.8, 10, 110, 20), 200):
        assert sparsity == pytest.approx(0.8 + (0.1 - 0.8) * (1 - (step - 10) / 100) ** 3, abs=1e-6)


def test_constant_goes_on_for_ever_or_to_its_end():
    assert [step for step, _ in updates(schedules.constant(0.5, 3, frequency=4), 12)] == [3, 7, 11]
    assert [step for step, _ in updates(schedules.constant(0.5, 3, 7, 4), 12)] == [3, 7]


def test_first_update():
    schedule = schedules.polynomial(0.0, 0.8, 10, 30, 10)
    assert schedules.first_update(schedule, 1, 100) == 20  # at step 10 it asks for a sparsity of 0
    assert schedules.first_update(schedule, 21, 30) == 30
    assert schedules.first_update(schedule, 31, 100) is None
    assert schedules.first_update(schedule, 1, 19) is None


def test_a_schedule_that_would_miss_its_end_is_refused():
    with pytest.raises(
        InputError, match=r"frequency: got 30, expected a divisor of end - begin = 100 - 0"
    ):
        schedules.polynomial(0.0, 0.8, 0, 100, 30)
    with pytest.raises(
        InputError,
        match=r"schedule: got \(1\.0, .*ConstantSparsity accepts .*must be in range \[0,1\)",
    ):
        schedules.constant(1.0, 0)


def test_a_schedule_that_returns_no_pair_is_refused():
    with pytest.raises(InputError, match=r"returns \(should_prune, sparsity\)"):
        schedules.ask(lambda step: 0.5, 1)


@pytest.mark.slow
@pytest.mark.parametrize("before", and_nightly([None], ["1"]))
def test_importing_tfmot_leaves_the_keras_of_the_process_alone(before):
    script = f"""
import os
before = {before!r}
os.environ.pop("TF_USE_LEGACY_KERAS", None)
if before is not None:
    os.environ["TF_USE_LEGACY_KERAS"] = before
from tfaudit.compress.pruning import schedules
schedules.constant(0.5, 1)
import sys
assert "tensorflow_model_optimization" in sys.modules
assert os.environ.get("TF_USE_LEGACY_KERAS") == before, os.environ.get("TF_USE_LEGACY_KERAS")
import tensorflow as tf
package = tf.keras.layers.Dense.__module__.partition(".")[0]
assert package == ("tf_keras" if before == "1" else "keras"), package
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=120)


def test_a_missing_library_is_one_line(monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorflow_model_optimization.sparsity.keras", None)
    schedules._tfmot.cache_clear()
    expected = r"schedule: got no installed tensorflow_model_optimization, expected one: pip install 'tfaudit\[keras\]'"
    try:
        with pytest.raises(InputError, match=expected):
            schedules.constant(0.5, 1)
    finally:
        schedules._tfmot.cache_clear()
