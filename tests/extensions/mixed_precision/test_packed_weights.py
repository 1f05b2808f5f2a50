"""int4 files: their numbers beside NumPy's, the types of single layers, and what LiteRT Quantizer leaves out."""

import sys

import keras
import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema
from keras import layers
from numpy.testing import assert_allclose

from tests.builders.refusals import assert_refused
from tests.builders.stacks import stack
from tfaudit.compress.counts import counts
from tfaudit.compress.litert.conversions import Conversions
from tfaudit.compress.litert.flatbuffer_contents import read_flatbuffer, weight_types
from tfaudit.compress.litert.inference import predict
from tfaudit.compress.litert.quantize import quantize
from tfaudit.compress.litert.tensorflow_lite import TensorFlowLite
from tfaudit.errors import Notice

pytest.importorskip("litert_quantizer")
IMAGES = np.random.default_rng(0).random((20, 8, 8, 2), np.float32)


@pytest.fixture(scope="module")
def model():
    keras.utils.set_random_seed(0)
    return stack(
        (8, 8, 2),
        layers.Conv2D(6, 3, activation="relu", name="conv"),
        layers.DepthwiseConv2D(3, name="depthwise"),
        layers.Flatten(),
        layers.Dense(20, activation="relu", name="hidden"),
        layers.Dense(5, name="scores"),
    )


@pytest.fixture(scope="module")
def int4(model):
    return quantize(model, "int4")


def rounded(kernel):
    """A kernel with a scale per output channel, whose largest weight is 7 steps, or 127 for a depthwise one."""
    axis = (0, 1) if kernel.shape[-1] == 1 else tuple(range(kernel.ndim - 1))
    scale = np.abs(kernel).max(axis, keepdims=True) / (127 if kernel.shape[-1] == 1 else 7)
    return np.rint(kernel / scale) * scale


def types(content):
    """Types by layer: the names of results hold those of layers."""
    found = weight_types(content).items()
    words = ("conv2d", "conv", "depthwise", "hidden", "scores", "StatefulPartitionedCall")
    return {next(word for word in words if word in name): dtype for name, (dtype, _) in found}


def test_the_numbers_are_those_of_numpy(model, int4):
    """The scores are those of a Keras model with rounded kernels, but for activations that LiteRT rounds to int8."""
    other = keras.models.clone_model(model)
    other.set_weights([rounded(w) if w.ndim > 1 else w for w in model.get_weights()])
    wanted, got = predict(other, IMAGES, k=5), predict(int4, IMAGES, k=5)
    by_class = [np.take_along_axis(p, np.argsort(c, axis=1), axis=1) for c, p in (wanted, got)]
    assert_allclose(*by_class, atol=5e-3)
    assert np.abs(predict(model, IMAGES, k=5).probabilities - by_class[1]).max() > 5e-3


def test_cost_reads_weights_behind_the_flatbuffer():
    """LiteRT Quantizer writes 256 KiB or more behind the flatbuffer, where `Buffer.offset` says."""
    keras.utils.set_random_seed(0)
    dense = [layers.Dense(units, "relu", bias_initializer="normal") for units in (599, 1001)]
    model = stack((3,), *dense)
    int4 = quantize(model, "int4")
    buffers = schema.ModelT.InitFromObj(schema.Model.GetRootAs(int4, 0)).buffers
    assert any(buffer.offset > 1 for buffer in buffers)
    contents = read_flatbuffer(int4)
    assert contents.parameters == model.count_params()
    zeros = sum(int((rounded(w) == 0).sum()) for w in model.get_weights() if w.ndim > 1)
    assert (contents.zeros, contents.notes) == (zeros, ())
    assert counts(int4).parameters == model.count_params()


def test_a_file_of_one_type_comes_from_the_trace_of_all_other_kinds(int4):
    assert b"tfaudit_layer_" not in int4  # the names of a second trace, in which layers are marked


def test_single_layers_have_types_of_their_own(model, int4):
    assert types(int4) == {
        "conv": "int4",
        "depthwise": "int8",
        "hidden": "int4",
        "StatefulPartitionedCall": "int4",
    }
    mixed = quantize(
        model, "int4", layer_types={"conv": "int8", "hidden": "float16"}, float_layers="last"
    )
    assert types(mixed) == {
        "conv": "int8",
        "depthwise": "int8",
        "hidden": "float16",
        "StatefulPartitionedCall": "float32",
    }
    assert len(mixed) > len(int4)


def test_a_model_is_converted_once_for_all_kinds(model, monkeypatch):
    made = []
    real = TensorFlowLite._converted

    def counted(self, settings, **options):
        made.append(settings.kind)
        return real(self, settings, **options)

    monkeypatch.setattr(TensorFlowLite, "_converted", counted)
    conversions = Conversions(model, representative=IMAGES)
    files = {
        settings: conversions.file(kind, **dict(settings))
        for kind in ("float32", "int4", "int8")
        for settings in [(("float_layers", ("conv",)),), (("float_layers", ("hidden",)),), ()]
        if kind != "float32" or not settings
    }
    assert made == [
        "float32",
        "float32",
        "int8",
        "int8",
    ]  # as it is, marked, calibrated, plain int8
    monkeypatch.undo()
    for settings, content in files.items():
        assert content == quantize(model, "int8", representative=IMAGES, **dict(settings))


def test_weights_that_stay_in_float_are_told():
    tokens = keras.Input((6,), dtype="int32")
    pooled = layers.GlobalAveragePooling1D()(layers.Embedding(100, 8)(tokens))
    model = keras.Model(tokens, layers.Dense(25)(pooled))
    with pytest.warns(Notice, match="kind 'int4': LiteRT Quantizer left 80 % of the weights in f"):
        content = quantize(model, "int4")
    assert len(content) > 4 * 100 * 8
    bag = keras.Model(tokens, pooled)
    message = (
        "kind: got 'int4' for a model of which LiteRT Quantizer left 100 % of the weights in f"
    )
    assert_refused(message, quantize, bag, "int4")


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        ("int4", {"layer_types": {"none": "int8"}}, "layer_types: got none, expected names"),
        ("int4", {"layer_types": {"conv": "int2"}}, "layer_types: got 'int2', expected 'int8' or"),
        ("int8", {"layer_types": {"conv": "int8"}}, "layer_types: got kind 'int8', expected kind"),
        ("int4", {"sparse": True}, "sparse: got True for kind 'int4', expected False"),
        ("int4", {"io": "int8"}, "io: got 'int8' for kind 'int4'"),
        ("int4", {"percentile": 99}, "percentile: got kind 'int4', expected kind 'int8'"),
    ],
)
def test_bad_settings_get_one_line(model, kind, options, message):
    assert_refused(message, quantize, model, kind, representative=IMAGES, **options)


def test_the_missing_library_is_one_line(model, monkeypatch):
    monkeypatch.setitem(sys.modules, "litert_quantizer", None)
    message = r"kind 'int4': got no installed litert_quantizer, .*tfaudit\[quantizer\]"
    assert_refused(message, quantize, model, "int4")
