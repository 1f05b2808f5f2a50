"""Files that ask Keras for far more memory or time than their size end in one line, at once."""

import json
import time
import zipfile

import keras
import numpy as np
import pytest
from numpy.testing import assert_array_equal

from tests.builders.refusals import assert_refused
from tfaudit.compress.keras_archive import weight_bytes
from tfaudit.compress.model_files import load_keras

L = keras.layers


def edited(source, change, *, spaces=0):
    """Copy a model's file, change its layers, and append megabytes of spaces to its configuration."""
    target = source.with_name("edited.keras")
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            with new.open(name, "w") as part:
                content = old.read(name)
                if name == "config.json":
                    config = json.loads(content)
                    change(config["config"]["layers"])
                    content = json.dumps(config).encode() + b" " * (spaces * 10**6)
                part.write(content)
    return target


@pytest.fixture
def saved(tmp_path):
    layers = [keras.Input((100,)), L.Dense(4), L.RepeatVector(2)]
    model = keras.Sequential(layers)
    model.compile("adam", "mse")
    model.fit(np.zeros((4, 100)), np.zeros((4, 2, 4)), verbose=0)
    model.save(tmp_path / "model.keras")
    return tmp_path / "model.keras"


def of_dense(layers):
    layers[1]["config"]["units"] = 3 * 10**7


def of_copies(layers):
    layers[2]["config"]["n"] = 10**9


def of_layers(layers):
    first, dense, _ = layers
    one = {**dense["config"], "units": 100}
    named = [{**dense, "config": {**one, "name": f"dense_{i}"}} for i in range(1000)]
    layers[:] = [first, *named]


@pytest.mark.parametrize(
    ("change", "spaces", "words"),
    [
        (of_dense, 0, "whose layers have 3,030,000,000 weights"),
        (of_copies, 0, "puts out 4,000,000,000 values per example"),
        (of_layers, 0, "a Sequential of 1,001 layers"),
        (lambda layers: None, 70, "whose config.json unpacks to 70,0"),
    ],
)
def test_what_asks_for_too_much_is_refused_at_once(saved, change, spaces, words):
    start = time.perf_counter()
    assert_refused(words, load_keras, edited(saved, change, spaces=spaces))
    assert time.perf_counter() - start < 20


def test_a_configuration_that_makes_no_sense_is_left_to_keras(saved):
    def nonsense(layers):
        layers[1]["config"]["layers"] = 5

    assert_refused("which Keras cannot load", load_keras, edited(saved, nonsense))


def test_a_model_without_values_leaves_nothing_behind(saved):
    model = load_keras(saved)
    assert_refused("weights", load_keras, edited(saved, of_dense))
    again = load_keras(saved)  # symbolic calls would give the refused model its 12 GB
    for one, other in zip(model.weights, again.weights, strict=True):
        assert_array_equal(one, other)


def test_a_damaged_state_of_the_optimizer_is_no_traceback(saved):
    size, state = weight_bytes(saved)
    assert state > 2 * 4 * 404
    assert size + state == saved.stat().st_size
    with zipfile.ZipFile(saved) as old:
        parts = {name: bytearray(old.read(name)) for name in old.namelist()}
    weights = parts["model.weights.h5"]
    place = weights.find(b"optimizer")
    weights[place - 200 : place + 600] = bytes(range(200)) * 4
    with zipfile.ZipFile(saved, "w") as new:
        for name, content in parts.items():
            new.writestr(name, bytes(content))
    assert weight_bytes(saved)[0] <= saved.stat().st_size
    assert_refused("which Keras cannot load", load_keras, saved)
