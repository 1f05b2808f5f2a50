"""Through every kind of layer, with the channels that have to be left counted by hand."""

import keras
import numpy as np
import pytest
from keras import layers, ops
from numpy.testing import assert_allclose

from tests.builders.stacks import stack
from tests.extensions.shrinking.silenced_nets import lively, shrunk_channels, silence
from tfaudit.extensions.shrinking.shrink import shrink

OUT = {"reader": 3}


@pytest.fixture(autouse=True)
def _seeded():
    keras.utils.set_random_seed(0)


def net(*parts, shape=(7, 7, 2), reader=None):
    """`parts` one after the other, read by a dense layer at the end or by `reader`."""
    inputs = x = keras.Input(shape)
    for part in parts:
        x = part(x)
    x = (reader or layers.Dense(3, name="reader"))(x)
    return lively(keras.Model(inputs, x))


def conv(filters=6, size=3, name="conv", **settings):
    return layers.Conv2D(filters, size, name=name, **settings)


def values_of(model, layer, variable, values):
    next(weight for weight in model.get_layer(layer).weights if weight.name == variable).assign(
        values
    )


PASSING = {
    "nothing": [],
    "normalisation": [layers.BatchNormalization],
    "normalisation without scale and centre": [
        lambda: layers.BatchNormalization(scale=False, center=False)
    ],
    "relu": [layers.ReLU],
    "leaky relu": [lambda: layers.LeakyReLU(0.2)],
    "activation": [lambda: layers.Activation("gelu")],
    "function": [lambda: keras.activations.silu],
    "rescaling": [lambda: layers.Rescaling(2.0, 1.0)],
    "arithmetic": [lambda: lambda x: ops.relu6(x * 2.0 + 3.0) / 6.0],
    "max pooling": [layers.MaxPooling2D],
    "padded max pooling": [lambda: layers.MaxPooling2D(3, 2, "same")],
    "padded average pooling": [lambda: layers.AveragePooling2D(3, 2, "same")],
    "global average pooling": [layers.GlobalAveragePooling2D],
    "global max pooling": [lambda: layers.GlobalMaxPooling2D(keepdims=True)],
    "bilinear upsampling": [lambda: layers.UpSampling2D(2, interpolation="bilinear")],
    "cropping": [layers.Cropping2D],
    "dropout": [
        lambda: layers.Dropout(0.5),
        lambda: layers.SpatialDropout2D(0.5),
        lambda: layers.GaussianNoise(1),
    ],
    "flatten": [layers.Flatten],
    "reshaped to sequences": [lambda: layers.Reshape((25, 6))],
    "reshaped with a side left open": [lambda: layers.Reshape((5, -1, 6))],
    "reshaped flat": [lambda: layers.Reshape((150,))],
    "reshaped flat by -1": [lambda: layers.Reshape((-1,))],
    "pooled and reshaped": [
        layers.GlobalMaxPooling2D,
        lambda: layers.Reshape((1, 1, 6)),
        layers.Flatten,
    ],
}


@pytest.mark.parametrize("name", PASSING)
def test_a_constant_goes_through_into_the_bias(name):
    model = net(conv(), *(make() for make in PASSING[name]))
    silence(model, "conv", [0, 3])
    after = shrunk_channels(model)
    assert after["conv"] == 4
    assert after["reader"] == 3


@pytest.mark.parametrize(
    "reader",
    [
        layers.Conv2D(3, 3, use_bias=False, name="reader"),
        layers.Conv2D(3, 2, strides=2, dilation_rate=1, name="reader"),
        layers.Conv2D(3, 1, padding="same", use_bias=False, activation="relu", name="reader"),
        layers.SeparableConv2D(3, 3, depth_multiplier=2, use_bias=False, name="reader"),
    ],
)
def test_every_reader_without_padding_takes_the_constants(reader):
    model = net(conv(activation="sigmoid"), reader=type(reader).from_config(reader.get_config()))
    silence(model, "conv", [1, 2, 5])
    assert shrunk_channels(model) == {"conv": 3, **OUT}


@pytest.mark.parametrize(
    "parts",
    [
        [layers.Conv2D(3, 3, padding="same", name="reader")],
        [layers.Conv2D(3, 5, strides=2, padding="same", use_bias=False, name="reader")],
        [layers.ZeroPadding2D(), layers.Conv2D(3, 3, name="reader")],
        [layers.ZeroPadding2D(), layers.Conv2D(3, 3, padding="same", name="reader")],
        [
            lambda x: ops.pad(x, [[0, 0], [1, 0], [0, 2], [0, 0]]),
            layers.Conv2D(3, 3, name="reader"),
        ],
        [layers.Conv2DTranspose(3, 3, strides=2, name="reader")],
    ],
)
def test_one_constant_carries_all_through_zero_padding(parts):
    *between, reader = (
        type(part).from_config(part.get_config()) if isinstance(part, layers.Layer) else part
        for part in parts
    )
    model = net(conv(activation="sigmoid"), *between, reader=reader)
    silence(model, "conv", [1, 2, 5])
    assert shrunk_channels(model) == {"conv": 4, **OUT}
    row = shrink(model).frame().iloc[0]
    assert (row["idle"], row["why"]) == (
        1,
        "it carries all constants through the zero padding of 'reader'",
    )


def test_padding_twice_keeps_what_is_constant_no_more():
    model = net(conv(activation="sigmoid"), layers.ZeroPadding2D(name="once"), layers.ZeroPadding2D(name="twice"),
                reader=layers.Conv2D(3, 3, name="reader"))  # fmt: skip
    silence(model, "conv", [1, 2, 5])
    assert shrunk_channels(model) == {"conv": 6, **OUT}
    assert shrink(model).frame()["why"][0] == "after 'twice' it is no longer constant"


@pytest.mark.parametrize("multiplier", [1, 3])
@pytest.mark.parametrize("padding", ["valid", "same"])
def test_depthwise_convolutions_follow_their_input(multiplier, padding):
    depthwise = layers.DepthwiseConv2D(
        3, depth_multiplier=multiplier, padding=padding, name="depthwise"
    )
    model = net(conv(activation="relu"), depthwise, layers.BatchNormalization(name="norm"))
    silence(model, "conv", [1, 2])
    values_of(model, "conv", "bias", np.array([1, -1, -1, 1, 1, 1.0]))
    assert shrunk_channels(model) == {
        "conv": 4,
        "depthwise": 4 * multiplier,
        "norm": 4 * multiplier,
        **OUT,
    }


@pytest.mark.parametrize(("padding", "left"), [("valid", 4), ("same", 6)])
def test_depthwise_convolutions_bend_other_constants_at_the_border(padding, left):
    model = net(
        conv(activation="sigmoid"), layers.DepthwiseConv2D(3, padding=padding, name="depthwise")
    )
    silence(model, "conv", [1, 2])
    assert shrunk_channels(model) == {"conv": left, "depthwise": left, **OUT}
    model = net(
        conv(activation="sigmoid"), layers.SeparableConv2D(5, 3, padding=padding, name="separable")
    )
    silence(model, "conv", [1, 2])
    assert shrunk_channels(model) == {"conv": left, "separable": 5, **OUT}


def test_a_silent_depthwise_channel_silences_its_input():
    model = net(conv(), layers.DepthwiseConv2D(3, padding="same", name="depthwise"))
    silence(model, "depthwise", [0, 4], axis=-2)
    assert shrunk_channels(model) == {"conv": 4, "depthwise": 4, **OUT}


def test_separable_convolutions_lose_channels_at_both_ends():
    model = net(
        conv(activation="relu"), layers.SeparableConv2D(5, 3, depth_multiplier=2, name="separable")
    )
    silence(model, "conv", [1, 2])
    pointwise = model.get_layer("separable").pointwise_kernel
    pointwise.assign(pointwise.numpy() * [1, 0, 1, 1, 0])
    assert shrunk_channels(model) == {"conv": 4, "separable": 3, **OUT}


def test_one_dimension_and_three():
    line = net(layers.Conv1D(6, 3, padding="causal", activation="tanh", name="conv"),
               layers.Conv1D(4, 3, padding="causal", name="next"), layers.DepthwiseConv1D(2, name="depthwise"),
               layers.SeparableConv1D(4, 2, name="separable"), layers.Conv1DTranspose(3, 2, name="up"),
               layers.GlobalAveragePooling1D(), shape=(9, 2))  # fmt: skip
    silence(line, "conv", [0, 1, 2])
    silence(line, "next", [1])
    silence(line, "up", [2], axis=-2)
    assert shrunk_channels(line) == {
        "conv": 4,
        "next": 3,
        "depthwise": 3,
        "separable": 4,
        "up": 2,
        **OUT,
    }
    cube = net(
        layers.Conv3D(4, 2, name="conv"),
        layers.MaxPooling3D(),
        layers.Flatten(),
        shape=(5, 5, 5, 1),
    )
    silence(cube, "conv", [0, 1])
    assert shrunk_channels(cube) == {"conv": 2, **OUT}


def branches(join, left=(0, 1, 2), right=(2, 3)):
    inputs = keras.Input((7, 7, 2))
    x = layers.ReLU(name="relu")(
        join([conv(6, name="left")(inputs), conv(6, name="right")(inputs)])
    )
    model = lively(keras.Model(inputs, conv(3, name="reader")(x)))
    silence(model, "left", left)
    silence(model, "right", right)
    return model


@pytest.mark.parametrize(
    "join",
    [
        *(layers.Add(name="join"), layers.Subtract(name="join"), layers.Average(name="join")),
        *(layers.Maximum(name="join"), layers.Minimum(name="join"), lambda pair: pair[0] + pair[1]),
        *(
            lambda pair: ops.maximum(*pair),
            layers.Multiply(name="join"),
            layers.Concatenate(axis=1, name="join"),
        ),
    ],
)
def test_joined_channels_go_only_together(join):
    model = branches(join)
    together = (
        6 if getattr(join, "axis", None) == 1 else 5
    )  # side by side, two constants are constant if equal
    assert shrunk_channels(model) == {"left": together, "right": together, **OUT}
    if isinstance(join, layers.Add):
        row = shrink(model).frame().iloc[0]
        assert (row["idle"], row["why"]) == (2, "after 'join' it is no longer constant")


@pytest.mark.parametrize("join", [layers.Concatenate(), lambda pair: ops.concatenate(pair, -1)])
def test_concatenated_channels_go_one_by_one(join):
    assert shrunk_channels(branches(join)) == {"left": 3, "right": 4, **OUT}


def test_squeeze_and_excitation():
    inputs = keras.Input((7, 7, 2))
    x = conv(6, activation="relu", use_bias=False)(inputs)
    gate = conv(2, 1, name="squeeze", activation="silu")(
        layers.GlobalAveragePooling2D(keepdims=True)(x)
    )
    gate = conv(6, 1, name="excite", activation="sigmoid")(gate)
    model = lively(keras.Model(inputs, conv(3, 1, name="reader")(layers.Multiply()([x, gate]))))
    silence(model, "conv", [0, 5])
    assert shrunk_channels(model) == {"conv": 4, "squeeze": 2, "excite": 4, **OUT}


def test_one_channel_that_gates_all_is_tied_to_none():
    inputs = keras.Input((7, 7, 2))
    x, gate = conv(6, activation="relu")(inputs), conv(1, name="gate", activation="sigmoid")(inputs)
    model = lively(keras.Model(inputs, conv(3, name="reader")(layers.Multiply()([x, gate]))))
    values_of(model, "conv", "bias", np.array([0, -1, 1, 1, 1, 1]))
    silence(model, "conv", [0, 1])
    assert shrunk_channels(model) == {"conv": 4, "gate": 1, **OUT}


def test_a_gamma_of_zero_makes_a_channel_constant():
    model = net(conv(), layers.BatchNormalization(name="norm"))
    values_of(model, "norm", "gamma", np.array([0, 1, 0, 1, 1, 1.0]))
    assert shrunk_channels(model) == {"conv": 4, "norm": 4, **OUT}


@pytest.mark.parametrize("activation", ["softmax", lambda x: x - ops.mean(x, -1, keepdims=True)])
def test_an_activation_over_channels_keeps_them(activation):
    model = net(conv(activation=activation))
    silence(model, "conv", [0, 1])
    assert shrunk_channels(model) == {"conv": 6, **OUT}
    assert shrink(model).frame()["why"][0] == "'conv' keeps all channels"


@pytest.mark.parametrize(
    ("wall", "why"),
    [
        (
            layers.LayerNormalization(name="wall"),
            "unchanged: no rule for LayerNormalization with these arguments",
        ),
        (layers.Conv2D(4, 3, groups=2, name="wall"), "unchanged: it has groups=2"),
        (layers.PReLU(name="wall"), "unchanged: no rule for PReLU with these arguments"),
        (
            layers.BatchNormalization(axis=1, name="wall"),
            "unchanged: no rule for BatchNormalization",
        ),
        (
            layers.TimeDistributed(layers.Dense(4), name="wall"),
            "unchanged: no rule for TimeDistributed",
        ),
    ],
)
def test_other_layers_keep_all_their_channels_and_are_named(wall, why):
    model = net(conv(), layers.ReLU(), type(wall).from_config(wall.get_config()))
    silence(model, "conv", [0, 1])
    assert shrunk_channels(model)["conv"] == 6
    frame = shrink(model).frame()
    assert frame["why"][0] == "'wall' keeps all channels"
    assert frame["why"][1].startswith(why)


def test_layers_without_weights_may_be_called_often_and_others_keep_all():
    relu, twice = layers.ReLU(), conv(6, 1, name="twice")
    model = net(conv(), relu, twice, relu, twice, relu, conv(4, name="last"))
    silence(model, "conv", [0, 1])
    silence(model, "last", [0])
    assert shrunk_channels(model) == {"conv": 6, "twice": 6, "last": 3, **OUT}
    assert "unchanged: it is called 2 times" in shrink(model).frame()["why"].tolist()


def test_training_within_the_graph_keeps_all():
    model = net(conv(), lambda x: layers.BatchNormalization(name="norm")(x, training=True))
    silence(model, "conv", [0, 1])
    assert shrunk_channels(model) == {"conv": 6, "norm": 6, **OUT}
    assert shrink(model).frame()["why"][1] == "unchanged: it is called with training=True"


def test_lambdas_are_copied_and_keep_all():
    model = net(conv(), layers.Lambda(lambda x: ops.flip(x, -1)))
    silence(model, "conv", [0, 1])
    assert shrunk_channels(model)["conv"] == 6


def test_models_inside_the_model_are_shrunk_by_themselves():
    inner = net(conv(6, name="first"), conv(4, name="second"), reader=layers.ReLU())
    silence(inner, "first", [0, 1])
    silence(inner, "second", [0, 1])
    part = stack((3, 3, 4), conv(5, 1, name="deep"), layers.Flatten(), name="stack")
    inputs = keras.Input((7, 7, 2))
    model = keras.Model(inputs, layers.Dense(3, name="reader")(part(inner(inputs))))
    after = shrunk_channels(lively(model))
    assert after == {f"{inner.name}/first": 4, f"{inner.name}/second": 4, "stack/deep": 5, **OUT}


def test_images_of_any_size():
    model = net(
        conv(padding="same"),
        layers.BatchNormalization(),
        layers.GlobalAveragePooling2D(),
        shape=(None, None, 2),
    )
    silence(model, "conv", [0, 3])
    smaller, images = (
        shrink(model).model,
        np.random.default_rng(0).normal(size=(2, 9, 11, 2)).astype(np.float32),
    )
    assert smaller.get_layer("conv").filters == 4
    assert_allclose(smaller(images), model(images), atol=1e-5)
