"""float_layers and percentile: what stays in float, and the public debugger of TensorFlow as the other path."""

import functools

import keras
import numpy as np
import pytest
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter
from keras import layers
from numpy.testing import assert_allclose

from tests.builders.operators import operators
from tfaudit.compress.litert.flatbuffer import Flatbuffer
from tfaudit.compress.litert.marked_layers import marked
from tfaudit.compress.litert.quantize import quantize
from tfaudit.compress.litert.tensorflow_lite import Calibrated
from tfaudit.runtime.captured_output import captured_output

IMAGES = np.random.default_rng(0).random((40, 6, 6, 2), np.float32)


@pytest.fixture(scope="module")
def model():
    keras.utils.set_random_seed(0)
    # Names as Keras gives them: scopes of one layer begin like the name of another.
    return keras.Sequential(
        [
            keras.Input((6, 6, 2), name="images"),
            layers.Conv2D(6, 3, use_bias=False, name="conv2d"),
            layers.BatchNormalization(name="norm"),
            layers.ReLU(name="relu"),
            layers.Conv2D(6, 3, activation="relu", name="conv2d_1"),
            layers.Flatten(name="flat"),
            layers.Dense(8, activation="relu", name="dense"),
            layers.Dense(4, activation="softmax", name="dense_1"),
        ]
    )


def float_operators(content):
    return [
        kind
        for kind, dtype, _ in operators(content)
        if dtype == np.float32 and kind != "DEQUANTIZE"
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("names", "kinds"),
    [
        (["conv2d"], ["CONV_2D"]),
        (["conv2d_1", "dense"], ["CONV_2D", "FULLY_CONNECTED"]),
        ("dense_1", ["FULLY_CONNECTED", "SOFTMAX"]),
        (["relu"], ["CONV_2D"]),
    ],
    ids=["conv2d", "two", "last", "fused"],
)
def test_named_layers_stay_float_and_others_do_not(model, names, kinds):
    content = quantize(model, "int8", representative=IMAGES, float_layers=names)
    assert float_operators(content) == kinds
    assert_allclose(Flatbuffer(content)(IMAGES), model.predict(IMAGES, verbose=0), atol=0.02)
    assert "call" not in vars(model.get_layer("conv2d"))


def test_marks_leave_replaced_calls_as_they_were(model):
    """Training on a CPU replaces calls, of BatchNormalization for one; quantization must not undo it."""
    layer = model.get_layer("conv2d")
    layer.call = replaced = functools.partial(layer.call)
    try:
        with marked([layer]):
            assert layer.call is not replaced
        assert layer.call is replaced
    finally:
        del layer.call


@pytest.fixture(scope="module")
def debugged(model, tmp_path_factory):
    """The public debugger of a model whose second convolution is marked."""
    folder = tmp_path_factory.mktemp("exported")
    with captured_output():
        with marked([model.get_layer("conv2d_1")]):
            model.export(folder, verbose=False)
        converter = tf.lite.TFLiteConverter.from_saved_model(str(folder))
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
        converter.representative_dataset = lambda: iter([[image[None]] for image in IMAGES])
        return tf.lite.experimental.QuantizationDebugger(
            converter=converter, debug_dataset=lambda: iter([])
        )


@pytest.mark.slow
def test_the_public_debugger_gives_the_same_file(debugged):
    own = Calibrated(debugged.calibrated_model)
    float_operators = own.operators.of(0)
    assert len(float_operators) == 1
    options = tf.lite.experimental.QuantizationDebugOptions(denylisted_nodes=float_operators)
    with captured_output():
        debugged._debug_options = (
            options  # its public setter makes the slow file of the debugger as well
        )
        expected = debugged.get_nondebug_quantized_model()
        found = own.quantized(float_operators)
    assert found == expected
    assert found != own.quantized()


@pytest.mark.slow
def test_percentiles_are_those_of_numpy_within_a_bin(model, debugged):
    own = Calibrated(debugged.calibrated_model)
    before = {index: (low[0], high[0]) for index, (low, high) in own._ranges().items()}
    own = own.clipped(99, own.histograms([image[None] for image in IMAGES]))
    after = {index: (low[0], high[0]) for index, (low, high) in own._ranges().items()}
    source = min(before)  # the first tensor is the input
    width = (before[source][1] - before[source][0]) / 2048
    assert_allclose(after[source], np.percentile(IMAGES, [1, 99]), atol=2 * width)
    assert all(before[i][0] <= after[i][0] < after[i][1] <= before[i][1] for i in before)
    content = quantize(model, "int8", representative=IMAGES, percentile=99)
    assert content != quantize(model, "int8", representative=IMAGES)
    assert_allclose(Flatbuffer(content)(IMAGES), model.predict(IMAGES, verbose=0), atol=0.05)


@pytest.mark.slow
def test_the_number_of_calibration_examples(model):
    more = np.concatenate([IMAGES, IMAGES * 3])
    wide = quantize(model, "int8", representative=more)
    assert wide == quantize(model, "int8", representative=more, calibration_examples=80)
    assert wide != quantize(model, "int8", representative=more, calibration_examples=4)


@pytest.mark.slow
@pytest.mark.parametrize("settings", [{}, {"float_layers": ["dense"]}, {"io": "int8"}])
def test_hardware_without_scales_per_channel_has_one_per_kernel(model, settings):
    """The weights are those of the largest one of the whole kernel, in 127 steps; of each channel by default."""
    kernels = [layer.kernel.numpy() for layer in model.layers if hasattr(layer, "kernel")]
    kernels[0] = kernels[0] / np.sqrt(1 + model.get_layer("norm").epsilon)  # which is folded
    for per_channel in (True, False):
        content = quantize(
            model, "int8", representative=IMAGES, per_channel=per_channel, **settings
        )
        interpreter = Interpreter(model_content=content)
        interpreter.allocate_tensors()
        found = 0
        for kernel in kernels:
            axes = tuple(range(kernel.ndim - 1)) if per_channel else None
            expected = np.abs(kernel).max(axis=axes) / 127
            flat = np.rint(kernel / expected).reshape(-1, kernel.shape[-1])
            for tensor in interpreter.get_tensor_details():
                scales = tensor["quantization_parameters"]["scales"]
                is_kernel = tensor["dtype"] == np.int8 and tensor["shape"].prod() == kernel.size
                if is_kernel and len(scales) and np.allclose(scales, expected, rtol=1e-5):
                    values = interpreter.get_tensor(tensor["index"])
                    found += np.abs(values.reshape(kernel.shape[-1], -1).T - flat).max() <= 1
        assert found == len(kernels) - len(settings.get("float_layers", ()))
