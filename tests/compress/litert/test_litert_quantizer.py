"""LiteRT Quantizer beside TensorFlow's own converter: the same ranges, types and nearly the same scores."""

import subprocess
import sys

import keras
import numpy as np
import pytest
from ai_edge_litert.interpreter import Interpreter
from keras import layers
from numpy.testing import assert_allclose

from tests.builders.operators import operators
from tests.builders.refusals import assert_refused
from tests.builders.stacks import stack
from tfaudit.compress.litert.file_settings import FileSettings
from tfaudit.compress.litert.flatbuffer import Flatbuffer
from tfaudit.compress.litert.flatbuffer_contents import weight_types
from tfaudit.compress.litert.litert_quantizer import LiteRTQuantizer
from tfaudit.compress.litert.quantize import quantize
from tfaudit.errors import Notice

pytest.importorskip("litert_quantizer")
IMAGES = np.random.default_rng(0).random((30, 8, 8, 2), np.float32)
FEEDS = [image[None] for image in IMAGES]


@pytest.fixture(scope="module")
def model():
    keras.utils.set_random_seed(0)
    return stack(
        (8, 8, 2),
        layers.Conv2D(8, 3, activation="relu"),
        layers.DepthwiseConv2D(3),
        layers.GlobalAveragePooling2D(),
        layers.Dense(40, activation="relu"),
        layers.Dense(30, activation="softmax"),
    )


@pytest.fixture(scope="module")
def float32(model):
    return quantize(model, "float32")


@pytest.fixture(scope="module")
def quantizer(float32):
    return LiteRTQuantizer(float32, FEEDS)


def ranges(content):
    """Lowest and highest value of each int8 tensor with one scale, by the order of the operators."""
    interpreter = Interpreter(model_content=content)
    details = {one["name"]: one["quantization"] for one in interpreter.get_tensor_details()}
    steps = [details[name] for _, dtype, name in operators(content) if dtype == np.int8]
    return np.array([[(end - zero) * scale for end in (-128, 127)] for scale, zero in steps])


@pytest.mark.parametrize(
    ("kind", "weights", "tolerance"),
    [
        ("float16", {"float16"}, 1e-4),
        ("dynamic_range", {"int8"}, 2e-3),
        ("int8", {"int8"}, 4e-3),
        ("int16x8", {"int8"}, 2e-3),
        ("int4", {"int4", "int8"}, 2e-2),
    ],
)
def test_every_kind_has_its_types_and_the_scores_of_the_float_file(
    model, float32, quantizer, kind, weights, tolerance
):
    content = quantizer.file(FileSettings(kind), {})
    if kind != "float16":  # weights are unpacked in operators of their own
        assert {dtype for dtype, _ in weight_types(content).values()} == weights
    scores = Flatbuffer(content)(IMAGES)
    assert_allclose(scores, Flatbuffer(float32)(IMAGES), atol=tolerance)
    assert not np.array_equal(scores, Flatbuffer(float32)(IMAGES))
    theirs = quantize(model, kind, representative=IMAGES)
    assert len(content) < 1.1 * len(theirs) < 1.3 * len(content)


def test_ranges_of_activations_are_those_of_tensorflow(model, quantizer):
    own, theirs = (
        ranges(content)
        for content in (
            quantizer.file(FileSettings("int8"), {}),
            quantize(model, "int8", representative=IMAGES),
        )
    )
    assert len(own) > 4
    assert_allclose(own, theirs, rtol=0.01, atol=0.01)
    clipped = ranges(quantizer.file(FileSettings("int8", percentile=99), {}))
    assert (np.ptp(clipped, axis=1) <= np.ptp(own, axis=1)).all()
    assert np.ptp(clipped[0]) == pytest.approx(np.ptp(np.percentile(IMAGES, [1, 99])), rel=0.02)


@pytest.mark.parametrize("io", ["float32", "int8", "uint8"])
def test_inputs_and_outputs_have_the_type_that_is_asked_for(quantizer, float32, io):
    content = quantizer.file(FileSettings("int8", io=io), {})
    interpreter = Interpreter(model_content=content)
    ends = interpreter.get_input_details() + interpreter.get_output_details()
    assert [np.dtype(end["dtype"]).name for end in ends] == [io, io]
    assert_allclose(Flatbuffer(content)(IMAGES), Flatbuffer(float32)(IMAGES), atol=4e-3)


def test_named_operators_stay_in_float_and_a_kernel_may_have_one_scale(quantizer, float32):
    last = [*weight_types(float32)][-1]
    kept = weight_types(quantizer.file(FileSettings("int8"), {"float32": [last]}))
    assert [dtype for dtype, _ in kept.values()] == ["int8", "int8", "int8", "float32"]
    for per_channel, scales in ((True, [8, 8, 40, 30]), (False, [1, 1, 1, 1])):
        content = quantizer.file(FileSettings("int8", per_channel=per_channel), {})
        details = Interpreter(model_content=content).get_tensor_details()
        found = [
            len(one["quantization_parameters"]["scales"])
            for one in details
            if one["dtype"] == np.int8 and one["shape"].prod() in (144, 72, 320, 1200)
        ]
        assert sorted(found) == sorted(scales)


def test_quantize_hands_its_settings_on(model, quantizer):
    options = {"representative": IMAGES, "quantizer": "litert"}
    for settings in ({}, {"percentile": 99.0, "per_channel": False, "io": "uint8"}):
        content = quantize(model, "int8", **options, **settings)
        assert content == quantizer.file(FileSettings("int8", **settings), {})
    kept = weight_types(quantize(model, "int8", **options, float_layers="last"))
    assert [dtype for dtype, _ in kept.values()] == ["int8", "int8", "int8", "float32"]


def test_a_float_file_is_quantized_without_tensorflow_or_keras(float32, tmp_path):
    (tmp_path / "float32.tflite").write_bytes(float32)
    program = """
import sys
from pathlib import Path
import numpy as np
from tfaudit.compress.litert.file_settings import FileSettings
from tfaudit.compress.litert.litert_quantizer import LiteRTQuantizer
content = Path("float32.tflite").read_bytes()
made = LiteRTQuantizer(content, [np.ones((1, 8, 8, 2), "f4")]).file(FileSettings("int8"), {})
print(len(made) < len(content), {"tensorflow", "keras"} & set(sys.modules))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.stdout == "True set()\n", done.stderr


def test_weights_that_stay_in_float_are_told():
    tokens = keras.Input((6,), dtype="int32")
    pooled = layers.GlobalAveragePooling1D()(layers.Embedding(100, 8)(tokens))
    model = keras.Model(tokens, layers.Dense(25)(pooled))
    with pytest.warns(Notice, match="kind 'dynamic_range': LiteRT Quantizer left 80 % of the wei"):
        quantize(model, "dynamic_range", quantizer="litert")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"quantizer": "aimet"}, "quantizer: got 'aimet', expected 'tensorflow' or 'litert'"),
        ({"sparse": True}, "quantizer: got 'litert' for sparse kernels, expected 'tensorflow'"),
    ],
)
def test_what_it_cannot_do_is_one_line(model, settings, message):
    settings = {"representative": IMAGES, "quantizer": "litert", **settings}
    assert_refused(message, quantize, model, "int8", **settings)


def test_a_failure_is_one_line(model, monkeypatch):
    from litert_quantizer import quantizer

    def fails(self, *given, **options):
        raise KeyError("a tensor")

    monkeypatch.setattr(quantizer.Quantizer, "quantize", fails)
    message = "model: got a model that LiteRT Quantizer cannot quantize to 'int8' .*a tensor"
    assert_refused(message, quantize, model, "int8", representative=IMAGES, quantizer="litert")
