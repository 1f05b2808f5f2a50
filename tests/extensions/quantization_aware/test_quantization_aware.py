"""quantization_aware: fake quantization by hand, and the int8 file that it becomes."""

import json
import subprocess

import keras
import numpy as np
import pytest
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter
from keras import layers
from numpy.testing import assert_allclose, assert_array_equal

from tests.builders.equality import assert_all_close
from tests.builders.operators import operators
from tests.builders.refusals import assert_refused
from tests.builders.stacks import stack
from tfaudit.compress.litert.flatbuffer import Flatbuffer
from tfaudit.compress.litert.learned_ranges import exporting
from tfaudit.compress.litert.quantize import quantize
from tfaudit.compress.model_files import load_keras
from tfaudit.compress.pruning.hold_masks import HoldMasks
from tfaudit.compress.pruning.one_shot import prune
from tfaudit.extensions.quantization_aware.fake_quantization import (
    FakeQuantization,
    fake_quantized_weights,
)
from tfaudit.extensions.quantization_aware.layers import (
    FakeQuantizedWeights,
    UnfoldedNormalization,
    contracted_axes,
)
from tfaudit.extensions.quantization_aware.quantization_aware import (
    OWN_LAYERS,
    quantization_aware,
)

RNG = np.random.default_rng(0)
IMAGES = RNG.random((200, 8, 8, 3), np.float32)
LABELS = RNG.integers(0, 10, 200)


def net():
    """Every kind of layer that is rounded, in the orders that matter: fused, shared, before a sum, nested."""
    keras.utils.set_random_seed(0)
    inputs = keras.Input((8, 8, 3), name="images")
    x = layers.Rescaling(2.0, offset=-1.0, name="rescaled")(inputs)
    x = layers.Conv2D(8, 3, padding="same", use_bias=False, name="conv")(x)
    x = layers.ReLU(name="relu")(layers.BatchNormalization(name="norm")(x))
    y = layers.SeparableConv2D(8, 3, padding="same", depth_multiplier=2, name="separable")(x)
    x = layers.Add(name="sum")([x, layers.BatchNormalization(name="norm_of_separable")(y)])
    x = layers.ReLU(name="before_activated")(layers.BatchNormalization(name="before")(x))
    y = layers.DepthwiseConv2D(
        3, padding="same", depth_multiplier=2, activation="relu6", name="depthwise"
    )(x)
    y = layers.AveragePooling2D(2, 1, padding="same", name="mean")(
        layers.MaxPooling2D(name="max")(y)
    )
    x = layers.Conv2D(4, 3, 2, padding="same", activation="silu", name="swish")(x)
    x = layers.Dropout(0.1, name="dropout")(layers.Concatenate(name="both")([x, y]))
    x = layers.Reshape((5, 4), name="rows")(layers.GlobalAveragePooling2D(name="pool")(x))
    block = [
        layers.Conv1D(8, 3, padding="same", name="one"),
        layers.BatchNormalization(name="two"),
        layers.ReLU(),
    ]
    x = stack((5, 4), *block, name="nested")(x)
    x = layers.EinsumDense("abc,cde->abde", (5, 2, 8), bias_axes="de", name="einsum")(x)
    x = layers.Dense(16, name="hidden")(layers.Flatten(name="flat")(x))
    x = layers.ReLU(name="hidden_relu")(layers.BatchNormalization(name="hidden_norm")(x))
    model = keras.Model(
        inputs, layers.Dense(10, activation="softmax", name="scores")(x), name="net"
    )
    for layer in model._flatten_layers():
        if isinstance(layer, layers.BatchNormalization):
            layer.set_weights(
                [RNG.uniform(0.5, 1.5, weight.shape) for weight in layer.get_weights()]
            )
    return model


def compiled(model, **options):
    model.compile(
        keras.optimizers.Adam(1e-3), "sparse_categorical_crossentropy", jit_compile=False, **options
    )
    return model


@pytest.fixture(scope="module")
def trained(made_once):
    """A pruned model, that model trained with its masks in mind of int8 and its int8 file, as they were saved."""

    def make(directory):
        directory.mkdir()
        model = net()
        prune(model, 0.6)
        aware = compiled(quantization_aware(model, momentum=0.9), steps_per_execution=2)
        hold = HoldMasks.from_zeros(aware)
        aware.fit(IMAGES, LABELS, batch_size=25, epochs=2, verbose=0, callbacks=[hold])
        model.save(directory / "model.keras")
        aware.save(directory / "aware.keras")
        np.save(directory / "scores.npy", aware(IMAGES))
        (directory / "int8.tflite").write_bytes(quantize(aware, "int8"))

    place = made_once("quantization-aware", make)
    models = (load_keras(place / f"{name}.keras") for name in ("model", "aware"))
    return *models, (place / "int8.tflite").read_bytes(), np.load(place / "scores.npy")


@pytest.mark.slow
def test_activations_that_the_converter_knows_compute_integers():
    """As MobileNetV3 has it: the product with a hard sigmoid made of a ReLU and numbers."""
    inputs = keras.Input((8, 8, 3))
    x = layers.Conv2D(4, 3, activation="hard_silu")(inputs)
    x = layers.Conv2D(4, 1, activation="gelu")(x)
    x = x * (layers.ReLU(6)(layers.Conv2D(4, 1)(x) + 3.0) * (1 / 6))
    x = layers.Dense(10, activation="softmax")(layers.GlobalAveragePooling2D()(x))
    aware = compiled(quantization_aware(keras.Model(inputs, x), momentum=0.5))
    aware.fit(IMAGES, LABELS, epochs=5, verbose=0)
    content = quantize(aware, "int8", io="int8")
    assert_all_close(Flatbuffer(content)(IMAGES), aware(IMAGES).numpy(), atol=0.02)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("between", "in_float"),
    [
        ([layers.Conv2DTranspose(6, 3, 2, padding="same", activation="relu")], 0),
        ([layers.LayerNormalization(), layers.Conv2D(6, 1), layers.GroupNormalization(3)], 2),
    ],
    ids=["transposed", "normalised"],
)
def test_normalisations_compute_in_float_between_integers(between, in_float):
    keras.utils.set_random_seed(0)
    x = inputs = keras.Input((8, 8, 3))
    for layer in (layers.Conv2D(6, 3), *between, layers.Conv2D(4, 3)):
        x = layer(x)
    x = layers.Dense(10, activation="softmax")(layers.GlobalAveragePooling2D()(x))
    aware = compiled(quantization_aware(keras.Model(inputs, x), momentum=0.5))
    aware.fit(IMAGES, LABELS, epochs=3, verbose=0)
    content = quantize(aware, "int8")
    computing = [kind for kind, dtype, _ in operators(content) if dtype == np.float32]
    for kind in ("MEAN", "RSQRT", "MUL", "ADD"):
        assert computing.count(kind) >= in_float
    assert bool(in_float) == (len(computing) > 1)  # the last one makes the scores
    convolutions = [np.dtype(dtype).kind for kind, dtype, _ in operators(content) if "CONV" in kind]
    assert set(convolutions) == {"i"}
    assert_all_close(Flatbuffer(content)(IMAGES), aware(IMAGES).numpy(), atol=0.02)


def test_keras_has_no_public_name_for_the_layers_that_are_known_by_name():
    assert not [name for name in OWN_LAYERS if hasattr(layers, name)]


def test_weights_are_rounded_as_numpy_rounds_them():
    weights = RNG.normal(size=(3, 3, 4, 2)).astype(np.float32)
    weights[..., 1, 0] = weights[0, 0, 0] = 0
    for channels in ((-1,), (2, 3), (0,), (-2,)):
        others = tuple(axis for axis in range(4) if axis not in [c % 4 for c in channels])
        scale = np.maximum(np.abs(weights).max(others, keepdims=True), 1e-8) / 127
        rounded = fake_quantized_weights(weights, channels).numpy()
        assert_allclose(rounded, np.rint(weights / scale) * scale, atol=1e-6)
        assert (rounded[weights == 0] == 0).all()


def test_the_gradient_passes_the_rounding():
    weights = tf.Variable(RNG.normal(size=(4, 3)).astype(np.float32))
    factors = RNG.normal(size=(4, 3)).astype(np.float32)
    with tf.GradientTape() as tape:
        total = tf.reduce_sum(fake_quantized_weights(weights) * factors)
    assert_array_equal(tape.gradient(total, weights), factors)


def test_ranges_are_means_and_then_moving_averages():
    layer = FakeQuantization(0.5)
    batches = [RNG.normal(size=(6, 4)).astype(np.float32) * (k + 1) for k in range(4)]
    assert_array_equal(layer(batches[0]), batches[0])  # not measured yet
    low = high = 0.0
    for k, batch in enumerate(batches):
        keep = min(0.5, k / (k + 1))
        low, high = keep * low + (1 - keep) * batch.min(), keep * high + (1 - keep) * batch.max()
        layer(batch, training=True)
        assert_allclose([layer.low.numpy(), layer.high.numpy()], [low, high], rtol=1e-5)
    expected = tf.quantization.fake_quant_with_min_max_vars(batches[0], low, high)
    assert_allclose(layer(batches[0]), expected, atol=1e-6)
    layer(np.full((2, 2), 9, np.float32), training=True)
    assert layer.low.numpy() <= 0  # zero is always in the range
    before = layer.low.numpy(), layer.high.numpy()
    layer(np.zeros((2, 2), np.float32), training=True)
    assert (layer.low.numpy(), layer.high.numpy()) == before  # dead ReLUs do not narrow it


@pytest.mark.parametrize("alive", [0, 2])
def test_a_layer_whose_relus_are_all_dead_gives_a_file_that_runs(alive):
    """From the start, or after some epochs: a scale near 0 is one that LiteRT refuses."""
    keras.utils.set_random_seed(0)
    rows = RNG.random((64, 4), np.float32)
    hidden = layers.Dense(3, "relu")
    last = layers.Dense(2, bias_initializer="ones")
    aware = quantization_aware(stack((4,), hidden, last), momentum=0.5)
    aware.compile(keras.optimizers.SGD(0.0), "mse")
    if alive:
        aware.fit(rows, np.ones((64, 2)), epochs=alive, verbose=0)
    bias = aware.trainable_variables[1]
    assert bias.shape == (3,)
    bias.assign(np.full(3, -100.0))
    aware.fit(rows, np.ones((64, 2)), batch_size=1, verbose=0)
    found = Flatbuffer(quantize(aware, "int8"))(rows)
    assert_all_close(found, aware.predict(rows, verbose=0), atol=0.01)
    assert_all_close(found, np.ones((64, 2)), atol=0.01)
    assert_all_close(Flatbuffer(quantize(aware, "int8", io="int8"))(rows), found, atol=0)


@pytest.mark.slow
def test_the_saved_model_and_the_int8_file_predict_as_the_trained_model(trained):
    _, aware, content, expected = trained
    assert_array_equal(aware(IMAGES), expected)
    scores = Flatbuffer(content)(IMAGES)
    assert (scores.argmax(1) == expected.argmax(1)).mean() >= 0.995
    assert_allclose(scores, expected, atol=0.02)


@pytest.mark.slow
def test_everything_behind_the_rescaling_is_an_integer(trained):
    kinds = [(kind, np.dtype(dtype).kind) for kind, dtype, _ in operators(trained[2])]
    computing = [kind for kind, dtype in kinds if dtype == "f"]
    assert computing == ["MUL", "ADD", "DEQUANTIZE"]
    names = {kind for kind, _ in kinds}
    assert names >= {
        "CONV_2D",
        "DEPTHWISE_CONV_2D",
        "FULLY_CONNECTED",
        "CONCATENATION",
        "MEAN",
        "SOFTMAX",
    }
    assert names.isdisjoint({"RELU", "RELU6", "SUB", "BATCH_MATMUL"})  # all fused


@pytest.mark.slow
def test_the_scales_are_those_of_the_model(trained):
    _, aware, content, _ = trained
    interpreter = Interpreter(model_content=content)
    tensors = interpreter.get_tensor_details()
    scales = {
        float(t["quantization"][0])
        for t in tensors
        if t["dtype"] == np.int8 and t["quantization"][0]
    }
    for layer in aware._flatten_layers():
        if isinstance(layer, FakeQuantization):
            scale = (float(layer.high.numpy()) - float(layer.low.numpy())) / 255
            assert min(abs(scale / found - 1) for found in scales) < 0.01, layer.name
    kernel = aware.get_layer("scores").layer.kernel.numpy()
    found = [
        t["quantization_parameters"]["scales"]
        for t in tensors
        if tuple(t["shape"]) == kernel.T.shape
    ]
    assert_allclose(found[0], np.abs(kernel).max(0) / 127, rtol=1e-5)


@pytest.mark.slow
def test_pruned_weights_stay_zero_in_training_and_in_int8(trained):
    model, aware, content, _ = trained
    masks = {
        w.path.rpartition("/")[0].rpartition("/")[2]: w.numpy() != 0
        for w in model.weights
        if w.name == "kernel"
    }
    kept = {
        layer.name: layer.layer.kernel.numpy() != 0
        for layer in aware._flatten_layers()
        if hasattr(layer, "layer") and hasattr(layer.layer, "kernel")
    }
    for name in ("conv", "depthwise", "swish", "one", "einsum", "hidden", "scores"):
        assert_array_equal(kept[name], masks[name])
    kernel = aware.get_layer("hidden").layer.kernel.numpy().T
    interpreter = Interpreter(model_content=content)
    [stored] = [
        interpreter.get_tensor(t["index"])
        for t in interpreter.get_tensor_details()
        if tuple(t["shape"]) == kernel.shape and t["dtype"] == np.int8
    ]
    assert (stored[kernel == 0] == 0).all()


@pytest.mark.slow
def test_the_model_itself_does_not_change_and_the_copy_has_its_weights():
    model = net()
    weights = model.get_weights()
    aware = quantization_aware(model)
    difference = np.abs(aware(IMAGES[:8]) - model(IMAGES[:8])).max()
    assert 0 < difference < 0.02  # only weights are rounded before the first step
    assert_all_close(weights, model.get_weights())
    assert len(aware.trainable_weights) == len(model.trainable_weights)
    assert [w.shape for w in aware.outputs] == [w.shape for w in model.outputs]


@pytest.mark.parametrize("shape", [(4, 4, 3), (5, 3), (3,)])
def test_what_the_converter_sees_of_a_normalisation_is_the_normalisation(shape):
    layer = layers.BatchNormalization()
    wrapped = UnfoldedNormalization(layer)
    x = RNG.normal(size=(6, *shape)).astype(np.float32)
    wrapped(x)
    layer.set_weights([RNG.uniform(0.5, 2, weight.shape) for weight in layer.get_weights()])
    with exporting():
        seen = wrapped(x)
    assert_allclose(seen, layer(x), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("equation", "shape", "axes", "count"),
    [
        ("abc,cd->abd", (None, 6), "d", 1),
        ("abc,cde->abde", (None, 2, 6), "de", 1),
        ("abcd,cde->abe", (None, 6), None, 2),
        ("...x,xy->...y", 6, "y", 1),
        ("abc,dc->abd", (None, 6), "d", 0),
        ("abc,cde->abde", (None, 2, 6), "e", 0),
    ],
)
def test_what_the_converter_sees_of_an_einsum_is_the_einsum(equation, shape, axes, count):
    layer = layers.EinsumDense(equation, shape, bias_axes=axes)
    x = RNG.normal(size=(2, 3, 4, 5) if "abcd" in equation else (2, 3, 4)).astype(np.float32)
    layer.build(x.shape)
    assert contracted_axes(layer) == count
    if count:
        wrapped = FakeQuantizedWeights(layer)
        layer.set_weights([RNG.normal(size=weight.shape) for weight in layer.get_weights()])
        with exporting():
            assert_allclose(wrapped(x), layer(x), rtol=1e-4, atol=1e-5)


def small(last="softmax", dtype=None):
    hidden = layers.Dense(8, activation="relu", name="hidden", dtype=dtype)
    return stack((4,), hidden, layers.Dense(3, activation=last, name="scores"), name="small")


@pytest.mark.slow
def test_a_layer_can_stay_float():
    aware = compiled(quantization_aware(small(), float_layers="hidden"))
    x = RNG.normal(size=(50, 4)).astype(np.float32)
    aware.fit(x, LABELS[:50] % 3, verbose=0)
    assert not isinstance(aware.get_layer("hidden"), FakeQuantizedWeights)
    content = quantize(aware, "int8")
    kinds = [(kind, np.dtype(dtype).kind) for kind, dtype, _ in operators(content)]
    assert kinds == [
        ("FULLY_CONNECTED", "f"),
        ("QUANTIZE", "i"),
        ("FULLY_CONNECTED", "i"),
        ("SOFTMAX", "i"),
        ("DEQUANTIZE", "f"),
    ]
    assert (Flatbuffer(content)(x).argmax(1) == aware.predict(x, verbose=0).argmax(1)).all()


@pytest.mark.slow
@pytest.mark.parametrize("kind", [layers.Dense, layers.EinsumDense], ids=["dense", "einsum"])
def test_products_of_sequences_are_integers_with_what_follows_them(kind, rng):
    keras.utils.set_random_seed(0)
    product = (
        layers.Dense(6)
        if kind is layers.Dense
        else layers.EinsumDense("abc,cd->abd", (5, 6), bias_axes="d")
    )
    inputs = keras.Input((5, 4))
    outputs = layers.ReLU()(layers.BatchNormalization()(product(inputs)))
    aware = keras.Model(inputs, outputs)
    aware = quantization_aware(aware)
    aware.compile("sgd", "mse", jit_compile=False)
    x = rng.random((40, 5, 4), np.float32)
    aware.fit(x, np.zeros((40, 5, 6)), verbose=0)
    content = quantize(aware, "int8")
    assert [kind for kind, dtype, _ in operators(content) if dtype == np.float32] == ["DEQUANTIZE"]
    scores = aware.predict(x, verbose=0)
    steps = np.abs(Flatbuffer(content)(x) - scores) / (scores.max() / 255)
    assert (
        steps > 2.1
    ).mean() < 0.01  # a value between two steps may fall to either, twice in a row
    assert steps.max() < 4


class Subclassed(keras.Model):
    """A model without a graph of layers."""

    def call(self, x):
        """Return the input."""
        return x


def dense_connection():
    """A model whose Concatenate takes a tensor that another layer takes too."""
    inputs = keras.Input((4,))
    first = layers.Dense(3, name="first")(inputs)
    return keras.Model(
        inputs, layers.Concatenate(name="both")([first, layers.Dense(2, name="second")(first)])
    )


def with_layer(layer, shape):
    inputs = keras.Input(shape)
    return keras.Model(inputs, layer(inputs), name="net")


@pytest.mark.parametrize(
    ("make", "options", "message"),
    [
        (
            lambda: with_layer(layers.LSTM(3, name="loop"), (4, 2)),
            {},
            r"model: got .*'loop' \(LSTM\), expected .*float_layers",
        ),
        (
            lambda: with_layer(layers.Dense(3, "elu", name="odd"), (4,)),
            {},
            r"model: got .*'odd' \(Dense\)",
        ),
        (
            dense_connection,
            {},
            r"model: got .*'both' \(Concatenate\), expected others, or their names in float_layers",
        ),
        (
            lambda: quantization_aware(small()),
            {},
            "model: got 'small', which is quantization-aware already",
        ),
        (
            small,
            {"float_layers": ["none"]},
            "float_layers: got none, expected names of layers, such as",
        ),
        (small, {"momentum": 1.0}, r"momentum: got 1.0, expected a share in \[0, 1\)"),
        (lambda: b"TFL3", {}, "model: got bytes"),
    ],
    ids=[
        "recurrent",
        "activation",
        "concatenation",
        "twice",
        "unknown",
        "momentum",
        "file",
    ],
)
def test_what_cannot_be_rounded_is_refused_in_one_line(make, options, message):
    assert_refused(message, quantization_aware, make(), **options)


def test_a_copy_of_a_model_in_mixed_precision_computes_in_float32():
    plain = small()
    x = RNG.normal(size=(50, 4)).astype(np.float32)
    found = []
    for dtype in ("float32", "float16"):
        model = plain if dtype == "float32" else small(dtype=f"mixed_{dtype}")
        model.set_weights(plain.get_weights())
        aware = compiled(quantization_aware(model))
        aware.fit(x, LABELS[:50] % 3, verbose=0, shuffle=False)
        assert model.get_layer("hidden").compute_dtype == dtype
        found.append([aware.predict(x, verbose=0), Flatbuffer(quantize(aware, "int8"))(x)])
    assert_array_equal(*found)


def test_subclassed_models_are_refused():
    model = Subclassed(name="own")
    model(np.zeros((1, 4), np.float32))
    assert_refused(
        "'own', a subclassed model, expected a functional or sequential model",
        quantization_aware,
        model,
    )


def test_only_int8_and_only_after_training():
    aware = quantization_aware(small())
    assert_refused(
        r"model: got 'small', whose ranges .* were never measured, expected .* fit it",
        quantize,
        aware,
        "int8",
    )
    assert_refused(
        "kind: got 'float16' for a quantization-aware model, expected 'int8'",
        quantize,
        aware,
        "float16",
    )


MIRRORED = """
import json, keras, numpy as np, tensorflow as tf
from tfaudit import quantization_aware

[cpu] = tf.config.list_physical_devices("CPU")
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
rng = np.random.default_rng(0)
x, y = rng.normal(size=(64, 8)).astype("float32"), rng.integers(0, 3, 64)
x[16:32] = x[:16]  # both replicas see the same half of a batch of 32, so ranges and losses are those of one device
x[48:] = x[32:48]


def run(strategy):
    keras.utils.set_random_seed(1)
    with strategy.scope():
        model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(6, "relu"), keras.layers.Dense(3)])
        aware = quantization_aware(model, momentum=0.5)
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        aware.compile(keras.optimizers.SGD(0.1), loss, jit_compile=False)
    y[16:32], y[48:] = y[:16], y[32:48]
    aware.fit(x, y, batch_size=32, epochs=2, shuffle=False, verbose=0)
    return aware


one, two = run(tf.distribute.get_strategy()), run(tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"]))
pairs = zip(one.get_weights(), two.get_weights(), strict=True)
print(json.dumps([two.distribute_strategy.num_replicas_in_sync, float(max(np.abs(a - b).max() for a, b in pairs))]))
"""


@pytest.mark.slow
def test_two_replicas_train_as_one(warm_python):
    done = subprocess.run(
        [*warm_python, "-c", MIRRORED], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    replicas, difference = json.loads(done.stdout.splitlines()[-1])
    assert replicas == 2
    assert difference < 1e-5
