"""What `run` refuses where workers run Keras on another backend than TensorFlow, before any work."""

import numpy as np
import pytest

import tfaudit
from tests.builders.refusals import assert_refused
from tests.builders.small_stores import random_ranks, save_examples, save_member, small_study
from tfaudit.store.store import Store
from tfaudit.study.study import Training
from tfaudit.study.variants import Pruned


@pytest.fixture(autouse=True)
def on_jax(monkeypatch):
    monkeypatch.setenv("KERAS_BACKEND", "jax")


@pytest.mark.parametrize(
    ("settings", "options", "refused"),
    [
        ({"training": Training(epochs=1, micro_batch=8)}, {}, "^micro_batch: got a value with"),
        (
            {"training": Training(epochs=2), "variants": (Pruned(0.5, begin=0.5),), "fork": True},
            {},
            "^fork: got",
        ),
    ],
)
def test_what_only_tensorflow_trains(settings, options, refused, tmp_path):
    assert_refused(refused, tfaudit.run, small_study(**settings), tmp_path / "study", **options)
    assert not (tmp_path / "study").exists()


def test_a_backend_that_is_not_installed(tmp_path, monkeypatch):
    monkeypatch.setenv("KERAS_BACKEND", "openvino")
    refused = (
        "^KERAS_BACKEND: got 'openvino', expected 'tensorflow', or an installed 'jax' or 'torch'"
    )
    assert_refused(refused, tfaudit.run, small_study(), tmp_path)


def test_a_study_goes_on_with_the_backend_that_began_it(tmp_path):
    store = Store.create(tmp_path, small_study(), {"tensorflow": "2.21.0"})
    save_examples(store)
    save_member(store, "dense", 0, random_ranks(np.random.default_rng(0)))
    refused = "^KERAS_BACKEND: got 'jax', expected 'tensorflow', with which the study was begun"
    assert_refused(refused, tfaudit.run, small_study(), tmp_path)
