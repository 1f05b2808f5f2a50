import keras
import numpy as np
import pytest
from keras import layers
from numpy.testing import assert_allclose, assert_array_equal

from tests.builders.equality import assert_all_close
from tests.builders.nightly import first_and_nightly
from tests.builders.refusals import assert_refused
from tests.builders.stacks import stack
from tests.extensions.shrinking.silenced_nets import (
    assert_same_outputs,
    lively,
    shrunk_channels,
    silence,
    silence_share,
)
from tfaudit.compress.pruning.one_shot import prune
from tfaudit.extensions.shrinking.shrink import shrink
from tfaudit.models.registry import build_model

SMALL = {
    "digits_convnet": (8, 8, 1),
    "lenet_r": (28, 28, 1),
    "lenet_p": (28, 28, 1),
    "resnet20": (32, 32, 3),
}


@pytest.fixture(autouse=True)
def _seeded():
    keras.utils.set_random_seed(0)


def small_net():
    inputs = keras.Input((6, 6, 1))
    x = layers.Conv2D(4, 3, activation="relu", name="conv")(inputs)
    x = layers.Dense(6, activation="relu", name="dense")(layers.Flatten()(x))
    return lively(keras.Model(inputs, layers.Dense(3, name="logits")(x), name="small"))


def pruned_net():
    model = small_net()
    silence(model, "conv", [1, 2])
    silence(model, "dense", [0, 4, 5])
    return model


@pytest.mark.slow
@pytest.mark.parametrize("name", SMALL)
def test_models_of_the_registry_answer_the_same(name):
    model = silence_share(lively(build_model(name, SMALL[name], 10, std=1.0)), 0.5)
    result = shrink(model)
    assert_same_outputs(model, result.model)
    summary = result.summary()
    assert summary["ratio"] > (
        1.9 if name == "resnet20" else 3.5
    )  # resnet20's shortcuts keep the ends of the blocks
    assert [layer.name for layer in result.model.layers] == [layer.name for layer in model.layers]


@pytest.mark.parametrize(
    ("axis", "left"),
    [
        (-1, {"conv1": 3, "conv2": 8, "dense1": 60, "dense2": 42}),
        (-2, {"conv1": 3, "dense1": 60, "dense2": 42}),
    ],
)
def test_what_prune_leaves_out_goes(axis, left):
    model = lively(build_model("lenet_r", (28, 28, 1), 10, std=1.0))
    pruned = (
        ["conv1", "conv2", "dense1", "dense2"]
        if axis == -1
        else ["conv2", "dense1", "dense2", "logits"]
    )
    prune(model, 0.5, method="l1", granularity="channel", axis=axis, layers=pruned)
    after = shrunk_channels(model)
    assert {name: after[name] for name in left} == left
    assert after["logits"] == 10


@pytest.mark.slow
@pytest.mark.parametrize("axis", first_and_nightly([-1, -2]))
def test_resnet50_along_either_axis(axis):
    model = lively(keras.applications.ResNet50(weights=None, input_shape=(64, 64, 3), classes=10))
    inner = [
        layer.name
        for layer in model.layers
        if layer.name.endswith(("_1_conv", "_2_conv", "_3_conv"))
    ]
    ends = ("_1_conv", "_2_conv") if axis == -1 else ("_2_conv", "_3_conv")
    for name in inner:
        if name.endswith(ends):
            channels = model.get_layer(name).kernel.shape[axis]
            silence(model, name, range(0, channels, 2), axis)
    after = shrunk_channels(model)
    for name in inner:
        filters = model.get_layer(name).filters
        if axis == -2:  # every channel that the next one reads stays, and none else
            assert after[name] == (filters // 2 if not name.endswith("_3_conv") else filters)
        elif name.endswith(
            "_1_conv"
        ):  # what 3x3 kernels read through padding: one constant for all
            assert after[name] in (filters // 2, filters // 2 + 1)
        elif name.endswith("_2_conv"):  # what 1x1 kernels read goes into a bias
            assert after[name] == filters // 2


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    first_and_nightly(["MobileNetV2", "MobileNetV3Small", "EfficientNetB0", "DenseNet121"]),
)
def test_other_architectures_answer_the_same(name):
    model = getattr(keras.applications, name)(weights=None, input_shape=(32, 32, 3), classes=10)
    result = shrink(silence_share(lively(model), 0.5))
    assert result.summary()["ratio"] > 1.25
    assert_same_outputs(model, result.model)


def test_the_frame_counts_channels_and_parameters():
    frame = shrink(pruned_net()).frame()
    assert frame.to_dict("list") == {
        "layer": ["conv", "dense", "logits"],
        "channels_before": [4, 6, 3],
        "channels_after": [2, 3, 3],
        "parameters_before": [40, 390, 21],
        "parameters_after": [20, 99, 12],
        "idle": [0, 0, 0],
        "why": ["", "", ""],
    }
    assert shrink(pruned_net()).summary() == {
        "parameters_before": 451,
        "parameters_after": 131,
        "ratio": 451 / 131,
        "idle": 0,
    }


def test_the_model_given_stays_as_it_was():
    model = pruned_net()
    before, config = model.get_weights(), model.get_config()
    shrink(model).model.layers[1].kernel.assign_add(np.ones((3, 3, 1, 2)))
    assert_all_close(model.get_weights(), before)
    assert model.get_config() == config
    assert model.get_layer("conv").output.shape == (
        None,
        4,
        4,
        4,
    )  # Keras refuses this where a layer has two calls


def test_a_layer_that_is_all_zero_keeps_one_channel():
    model = small_net()
    silence(model, "conv", range(4))
    silence(model, "dense", range(6))
    assert shrunk_channels(model) == {"conv": 1, "dense": 1, "logits": 3}
    assert shrink(model).frame()["why"][1] == "one channel stays in every layer"


def test_a_sequential_model_stays_one():
    model = stack(
        (6, 6, 1),
        layers.Conv2D(4, 3),
        layers.ReLU(),
        layers.Flatten(),
        layers.Dense(2),
        name="stack",
    )
    silence(lively(model), model.layers[0].name, [0, 2])
    result = shrink(model)
    assert type(result.model) is keras.Sequential
    assert (result.model.name, result.model.layers[0].filters) == ("stack", 2)
    assert_same_outputs(model, result.model)


def test_a_compiled_model_with_a_loss_of_its_own_is_no_obstacle():
    model = pruned_net()
    model.compile("adam", loss=lambda truth, scores: keras.ops.mean(scores))
    result = shrink(model)
    assert not result.model.compiled
    assert_same_outputs(model, result.model)


@pytest.mark.slow
def test_the_smaller_model_trains_saves_and_loads(tmp_path, rng):
    model = pruned_net()
    smaller = shrink(model).model
    model.save(tmp_path / "model.keras")
    smaller.compile(
        keras.optimizers.SGD(0.01), keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    )
    images, labels = rng.normal(size=(32, 6, 6, 1)).astype(np.float32), rng.integers(0, 3, 32)
    losses = smaller.fit(images, labels, epochs=3, verbose=0).history["loss"]
    assert losses[-1] < losses[0]
    smaller.save(tmp_path / "smaller.keras")
    loaded = keras.saving.load_model(tmp_path / "smaller.keras")
    assert_array_equal(loaded(images), smaller(images))


def test_several_inputs_and_outputs_keep_their_structure():
    left, right = keras.Input((5,), name="left"), keras.Input((4,), name="right")
    x = layers.Dense(6, activation="tanh", name="hidden")(layers.Concatenate()([left, right]))
    model = keras.Model(
        {"left": left, "right": right},
        {"a": layers.Dense(2, name="a")(x), "b": layers.Dense(3, name="b")(x)},
    )
    silence(lively(model), "hidden", [1, 2])
    smaller = shrink(model).model
    inputs = {"left": np.ones((2, 5), np.float32), "right": np.ones((2, 4), np.float32)}
    got, want = smaller(inputs), model(inputs)
    assert smaller.get_layer("hidden").units == 4
    assert got.keys() == want.keys()
    assert_allclose(got["b"], want["b"], atol=1e-5)


def test_mixed_precision_stays_within_its_precision():
    inputs = keras.Input((8,))
    x = layers.Dense(16, activation="gelu", dtype="mixed_bfloat16", name="hidden")(inputs)
    model = lively(keras.Model(inputs, layers.Dense(4, dtype="float32", name="logits")(x)))
    silence(model, "hidden", range(0, 16, 2))
    assert shrunk_channels(model, atol=2e-2) == {"hidden": 8, "logits": 4}
    assert shrink(model).model.get_layer("hidden").compute_dtype == "bfloat16"


class Subclassed(keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = layers.Dense(2)

    def call(self, x):
        return self.dense(x)


class OwnCall(keras.Model):
    def call(self, x, training=None):
        return -super().call(x)


class Uncopyable(layers.Layer):
    def __init__(self, thing):
        super().__init__(name="odd")
        self.thing = thing

    def call(self, x):
        return x * 2


def nameless(model):
    inputs = keras.Input((3,))
    return keras.Model(inputs, model(inputs))


def own_call():
    inputs = keras.Input((3,))
    return OwnCall(inputs, layers.Dense(2)(inputs), name="own")


def quantized_to_float8():
    layers = [keras.layers.Dense(16, name="a"), keras.layers.Dense(4)]
    model = stack((6,), *layers, name="net")
    model.quantize("float8")
    return model


@pytest.mark.filterwarnings("ignore::UserWarning")  # of Keras, for layers that it does not quantize
@pytest.mark.parametrize(
    ("make", "message"),
    [
        (type("Model", (), {"__module__": "tf_keras.src"}), "model: got a tf_keras"),
        (
            quantized_to_float8,
            r"model: got 'net', whose layers a, .* Keras has quantized to float8",
        ),
        (
            lambda: np.zeros(3),
            "model: got ndarray, expected a functional or Sequential Keras 3 model",
        ),
        (
            Subclassed,
            r"model: got '.*', a subclassed model \(Subclassed\), whose code cannot be analysed, expected",
        ),
        (own_call, r"model: got 'own', a subclassed model \(OwnCall\)"),
        (lambda: nameless(Subclassed()), r"a subclassed model \(Subclassed\)"),
        (
            lambda: keras.Sequential([layers.Dense(2)], name="open"),
            "model: got 'open', which has no variables yet",
        ),
        (
            lambda: nameless(Uncopyable(object())),
            "model: got layer 'odd', which its config cannot copy",
        ),
    ],
)
def test_what_cannot_be_shrunk_is_refused_in_one_line(make, message):
    assert_refused(message, shrink, make())
