"""What a run on Ray refuses before it starts."""

import importlib.util

from tests.builders.refusals import assert_refused
from tests.builders.tiny_studies import STUDY
from tfaudit import run
from tfaudit.population.engine_options import EngineOptions
from tfaudit.population.rehearsal import Rehearsal


def test_ray_that_is_not_installed_is_one_line(tmp_path, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    expected = r"engine: got 'ray', but ray is not installed, .*pip install 'tfaudit\[ray\]'"
    assert_refused(expected, run, STUDY, tmp_path, engine="ray")


def test_only_keras_on_tensorflow_runs_there(tmp_path, monkeypatch):
    monkeypatch.setenv("KERAS_BACKEND", "jax")
    expected = "^engine: got a value with KERAS_BACKEND=jax"
    assert_refused(expected, run, STUDY, tmp_path, engine="ray")


def test_a_rehearsal_is_local():
    assert_refused(
        "engine: got 'ray', expected 'local'", Rehearsal, STUDY, EngineOptions(engine="ray")
    )
