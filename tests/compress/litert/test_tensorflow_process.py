"""Quantization in a process of its own, as for Keras on JAX or torch: the same bytes and the same errors."""

import sys

import keras
import numpy as np
import pytest

from tests.builders.refusals import assert_refused
from tfaudit.compress.litert import tensorflow_process
from tfaudit.compress.litert.quantize import quantize
from tfaudit.compress.litert.tensorflow_process import quantized_in_tensorflow

pytestmark = pytest.mark.slow

IMAGES = np.random.default_rng(0).random((20, 6, 6, 1), np.float32)
CUSTOM = """
import keras

@keras.saving.register_keras_serializable("own")
class Twice(keras.layers.Layer):
    def call(self, inputs):
        return 2 * inputs
"""


@pytest.fixture
def warm(warm_python, monkeypatch):
    """The process starts with TensorFlow imported."""
    monkeypatch.setattr(tensorflow_process, "COMMAND", (*warm_python, "-P"))


def network(*more):
    shape = [keras.Input((6, 6, 1), name="images"), keras.layers.Flatten(name="flat")]
    return keras.Sequential([*shape, *more, keras.layers.Dense(3, name="scores")], name="net")


def test_bytes_are_those_of_this_process(tmp_path, warm):
    model = network()
    settings = {"representative": IMAGES, "float_layers": "last"}
    content = quantized_in_tensorflow(model, {"kind": "int8", **settings})
    model.save(tmp_path / "model.keras")
    assert content == quantize(tmp_path / "model.keras", "int8", **settings)
    assert content == quantized_in_tensorflow(
        tmp_path / "model.keras", {"kind": "int8", **settings}
    )


def test_errors_are_those_of_quantize(warm):
    refused = "^representative: got None, expected training images"
    assert_refused(refused, quantized_in_tensorflow, network(), {"kind": "int8"})


def test_registered_layers_are_imported(tmp_path, monkeypatch, warm):
    (tmp_path / "own_layers.py").write_text(CUSTOM)
    monkeypatch.syspath_prepend(tmp_path)
    own_layers = __import__("own_layers")
    try:
        model = network(own_layers.Twice())
        assert quantized_in_tensorflow(model, {"kind": "float32"})[4:8] == b"TFL3"
    finally:
        keras.saving.get_custom_objects().pop("own>Twice")
        del sys.modules["own_layers"]
