"""quantize: what is in the flatbuffers, the parity check that must bite, silence, and errors."""

import gc
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter
from keras import layers
from numpy.testing import assert_array_equal

from tests.builders.refusals import assert_refused
from tests.builders.stacks import stack
from tfaudit.compress.litert import conversions
from tfaudit.compress.litert.conversion_error import ConversionError
from tfaudit.compress.litert.inference import predict
from tfaudit.compress.litert.quantize import quantize
from tfaudit.errors import InputError
from tfaudit.runtime.captured_output import captured_output
from tfaudit.study.quantization import KINDS

IMAGES = np.random.default_rng(0).random((30, 8, 8, 1), np.float32)


def net(policy="float32"):
    keras.utils.set_random_seed(0)
    model = stack(
        (8, 8, 1),
        layers.Conv2D(8, 3, padding="same", dtype=policy, name="conv"),
        layers.BatchNormalization(dtype=policy, name="norm"),
        layers.ReLU(dtype=policy, name="relu"),
        layers.Dropout(0.1, dtype=policy, name="dropout"),
        layers.Flatten(dtype=policy, name="flat"),
        layers.Dense(64, dtype=policy, name="hidden"),
        layers.Dense(10, dtype="float32", name="logits"),
        name="net",
    )
    model.get_layer("norm").set_weights(
        [np.linspace(*ends, 8) for ends in ((1, 2), (-1, 1), (-0.5, 0.5), (0.5, 3))]
    )
    return model


@pytest.fixture(scope="module")
def model():
    return net()


def kernel_types(content):
    """The types of the constant tensors that hold the kernels, biases aside."""
    interpreter = Interpreter(model_content=content)
    return {
        np.dtype(t["dtype"]).name
        for t in interpreter.get_tensor_details()
        if np.prod(t["shape"]) >= 640
    }


@pytest.mark.slow
def test_each_kind_stores_its_types_and_size(model):
    converted = [kind for kind in KINDS if kind != "int4"]  # test_packed_weights.py
    content = {kind: quantize(model, kind, representative=IMAGES) for kind in converted}
    kernels = {kind: kernel_types(buffer) & {"float16", "int8"} for kind, buffer in content.items()}
    assert kernels == {
        "float32": set(),
        "float16": {"float16"},
        "dynamic_range": {"int8"},
        "int8": {"int8"},
        "int16x8": {"int8"},
    }
    weights = 4 * sum(w.size for w in model.get_weights())
    assert weights < len(content["float32"]) < weights + 6000
    assert 0.4 < len(content["float16"]) / len(content["float32"]) < 0.6
    assert max(len(content["int8"]), len(content["int16x8"])) < 0.35 * len(content["float32"])
    for buffer in content.values():
        interpreter = Interpreter(model_content=buffer)
        (source,), (target,) = interpreter.get_input_details(), interpreter.get_output_details()
        assert source["dtype"] == target["dtype"] == np.float32
        assert source["shape_signature"][0] == -1


@pytest.mark.slow
def test_ranges_of_sorted_data_are_those_of_all_classes(model):
    level = np.repeat([0.1, 1, 10], [1000, 980, 20])
    images = np.resize(IMAGES, (2000, 8, 8, 1)) * level.astype("float32")[:, None, None, None]
    content = quantize(model, "int8", representative=(images, level.astype(int)), io="int8")
    (source,) = Interpreter(model_content=content).get_input_details()
    scale, zero = source["quantization"]
    assert (127 - zero) * scale == pytest.approx(10, rel=0.01)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["float32", "int8"])
def test_same_model_same_bytes_and_the_model_stays(model, kind, tmp_path):
    weights = [w.copy() for w in model.get_weights()]
    first = quantize(model, kind, representative=IMAGES)
    assert first == quantize(model, kind, representative=IMAGES)
    model.save(tmp_path / "model.keras")
    assert first == quantize(
        keras.saving.load_model(tmp_path / "model.keras"), kind, representative=IMAGES
    )
    for before, after in zip(weights, model.get_weights(), strict=True):
        assert_array_equal(before, after)


@pytest.mark.slow
def test_mixed_precision_converts_from_its_float32_weights():
    model = net("mixed_float16")
    policies = [layer.dtype_policy for layer in model.layers]
    content = quantize(model, "float32")
    assert content == quantize(net(), "float32")
    assert all(
        layer.dtype_policy is policy for layer, policy in zip(model.layers, policies, strict=True)
    )


@pytest.mark.slow
def test_functional_nested_and_subclassed_models():
    class Subclassed(keras.Model):
        def __init__(self):
            super().__init__()
            self.inner = net()

        def call(self, x):
            return self.inner(x)

    inputs = keras.Input((8, 8, 1))
    shared = net()
    functional = keras.Model(inputs, layers.Add()([shared(inputs), shared(-inputs)]))
    nested = stack((8, 8, 1), layers.Rescaling(2.0), net())
    subclassed = Subclassed()
    subclassed(IMAGES[:1])
    for model, images in ((functional, IMAGES), (nested, None), (subclassed, None)):
        content = quantize(model, "dynamic_range", representative=images)
        agreement = predict(content, IMAGES)[0][:, 0] == predict(model, IMAGES)[0][:, 0]
        assert agreement.mean() > 0.9


@pytest.mark.slow
def test_uint8_and_integer_inputs():
    pixels = (IMAGES * 255).astype(np.uint8)
    for dtype in ("float32", "uint8"):
        model = keras.Sequential(
            [keras.Input((8, 8, 1), dtype=dtype), layers.Rescaling(1 / 255), net()]
        )
        content = quantize(model, "int8", representative=pixels)
        assert (predict(content, pixels)[0][:, 0] == predict(model, pixels)[0][:, 0]).mean() > 0.9


@pytest.mark.slow
def test_a_wrong_conversion_is_loud(model, monkeypatch):
    # A regression of the converter, as keras-core#824 was one: BatchNorm with other moments.
    wrong = net()
    wrong.get_layer("norm").set_weights([w * 1.1 for w in model.get_layer("norm").get_weights()])
    convert = tf.lite.TFLiteConverter.from_keras_model
    monkeypatch.setattr(tf.lite.TFLiteConverter, "from_saved_model", lambda _: convert(wrong))
    for kind in ("float32", "int8"):
        with pytest.raises(
            ConversionError,
            match=rf"model: got 'net', whose float32 flatbuffer differs .* by up to .* to '{kind}'",
        ):
            quantize(model, kind, representative=IMAGES)


@pytest.mark.slow
@pytest.mark.parametrize(
    "call", [1, 2, 7], ids=["first conversion", "second conversion", "calibration"]
)
def test_a_check_ends_conversion_and_calibration(model, call):
    calls = []

    class Ended(BaseException):
        pass

    def check():
        calls.append(None)
        if len(calls) == call:
            raise Ended

    with pytest.raises(Ended):
        quantize(model, "int8", representative=IMAGES, check=check)
    assert len(calls) == call


@pytest.mark.slow
def test_the_chatter_stays_out_of_the_terminal(model, capfd):
    quantize(model, "int8", representative=IMAGES)
    assert capfd.readouterr() == ("", "")
    print("after")
    assert capfd.readouterr().out == "after\n"


class Betainc(layers.Layer):
    def call(self, x):
        return tf.raw_ops.Betainc(a=x, b=x, x=x)


BEHIND = "which TensorFlow Lite cannot convert, expected a model that starts behind it"
UNCONVERTIBLE = [
    (layers.IntegerLookup(vocabulary=[1, 2], name="odd"), "int64", BEHIND),
    (layers.StringLookup(vocabulary=["a"], name="odd"), "string", BEHIND),
    (layers.Dense(2, dtype="float16", name="odd"), "float32", "in float16, expected weights in"),
    (layers.ReLU(dtype="float16", name="odd"), "float32", "in float16, expected weights in"),
    (Betainc(name="odd"), "float32", "needs Betainc, which TensorFlow Lite lacks, expected"),
]


@pytest.mark.parametrize(
    ("layer", "dtype", "reason"), UNCONVERTIBLE, ids=lambda value: type(value).__name__
)
def test_a_failed_conversion_names_the_layer_in_one_line(layer, dtype, reason, capfd):
    inputs = keras.Input((3,), dtype=dtype)
    inner = keras.Model(inputs, layer(inputs), name="inner")
    model = keras.Sequential([inner, layers.Rescaling(2.0)], name="outer")
    with pytest.raises(InputError) as caught:
        quantize(model, "dynamic_range")
    message = str(caught.value)
    assert f"layer 'odd' ({type(layer).__name__})" in message
    assert reason in message
    assert len(message) < 300
    assert caught.value.__cause__ is None
    assert capfd.readouterr() == ("", "")


def test_capture_restores_the_descriptors_when_the_block_fails(capfd):
    import os

    def fail():
        print("python")
        os.write(1, b"descriptor 1 ")
        os.write(2, b"descriptor 2 ")
        raise KeyError

    with pytest.raises(KeyError), captured_output() as chatter:
        fail()
    assert chatter.getvalue() == "python\ndescriptor 1 descriptor 2 "
    os.write(2, b"free again")
    assert capfd.readouterr() == ("", "free again")


def nan_model():
    model = net()
    model.set_weights([np.full_like(w, np.nan) for w in model.get_weights()])
    return model


INT8, INT16, HALF = ({"kind": kind} for kind in ("int8", "int16x8", "float16"))
REFUSED = [
    ({"kind": "int2"}, "kind: got 'int2', expected 'float32', 'float16'"),
    ({"representative": None}, "representative: got None, expected training images .* for kind 'i"),
    ({"representative": IMAGES[:, :4]}, r"got shape \(30, 4, 8, 1\), expected \(N, 8, 8, 1\)"),
    ({"representative": IMAGES * np.nan}, "representative: got NaN or infinity"),
    ({"model": nan_model(), **HALF}, "model: got 'net' with scores of NaN"),
    ({"io": "int4"}, "io: got 'int4', expected 'float32', 'int8' or 'uint8'"),
    ({"io": "int8", **HALF}, "io: got 'int8' for kind 'float16', expected 'float32'"),
    (
        {"io": "uint8", "float_layers": "last"},
        "io: .* computes floats in DEQUANTIZE, FULLY_CONNECTED",
    ),
    ({"float_layers": "none"}, "float_layers: got none, expected names of layers, such as .*conv"),
    ({"float_layers": ["dropout"]}, "float_layers: got 'dropout', which has no operator"),
    (
        {"float_layers": ["hidden"], **HALF},
        "float_layers: got kind 'float16', expected kind 'int8'",
    ),
    ({"percentile": 40}, "percentile: got 40, expected above 50"),
    ({"calibration_examples": 0}, "calibration_examples: got 0, expected 1 or more"),
    (
        {"float_layers": ["hidden"], "sparse": True},
        "sparse: got True with float_layers, expected one",
    ),
    ({"sparse": 0.9}, r"sparse: got 0\.9, expected True or False"),
    *(
        ({"model": stack((8, 8, 1), layer(name="normal")), **INT16}, "normalisations normal for ki")
        for layer in (layers.LayerNormalization, layers.UnitNormalization)
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize(("changes", "message"), REFUSED)
def test_bad_input_gets_one_line(model, changes, message):
    settings = {"model": model, **INT8, "representative": IMAGES, **changes}
    assert_refused(message, quantize, **settings)


def test_the_documentation_lists_every_kind():
    documentation = (Path(__file__).parents[3] / "docs" / "shipping.md").read_text()
    assert all(f"`{kind}`" in documentation for kind in KINDS)


def test_the_trace_of_a_conversion_does_not_wait_for_a_search_for_garbage():
    def traces():
        return {id(one) for one in gc.get_objects() if type(one) is conversions._Trace}

    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2)])
    frozen = gc.get_freeze_count()
    gc.unfreeze()
    gc.disable()
    try:
        earlier = traces()
        quantize(model, "int8", representative=np.ones((8, 4), "float32"))
        assert traces() <= earlier
    finally:
        gc.enable()
        if frozen:
            gc.freeze()
