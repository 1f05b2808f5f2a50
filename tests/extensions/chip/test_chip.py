"""Channel independence against a plain SVD for every channel, and the maps against a second model."""

import keras
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from tests.builders.refusals import assert_refused
from tests.builders.stacks import stack
from tfaudit.compress.pruning.kernels import find_kernels
from tfaudit.compress.pruning.one_shot import prune
from tfaudit.extensions.chip.chip import feature_maps, independence


def by_svd(maps):
    """The definition: as many decompositions as there are images and channels."""
    found = np.zeros(maps.shape[1])
    for image in maps.astype(np.float64):
        for j in range(len(image)):
            rest = image.copy()
            rest[j] = 0
            found[j] += np.linalg.norm(image, "nuc") - np.linalg.norm(rest, "nuc")
    return found / len(maps)


@settings(max_examples=40)
@given(
    st.integers(1, 3), st.integers(1, 9), st.integers(1, 9), st.integers(1, 9), st.integers(0, 999)
)
def test_independence_equals_the_loop_of_decompositions(images, channels, pixels, rank, seed):
    rng = np.random.default_rng(seed)
    maps = rng.normal(size=(images, channels, rank)) @ rng.normal(size=(images, rank, pixels))
    maps *= 10.0 ** rng.integers(-3, 4, size=(images, channels, 1))  # rows of very different sizes
    maps[:, rng.random(channels) < 0.2] = 0
    largest = np.linalg.norm(maps, 2, axis=(1, 2)).max()
    assert_allclose(independence(maps), by_svd(maps), rtol=1e-5, atol=1e-7 * max(largest, 1e-9))


def residual_net():
    keras.utils.set_random_seed(0)
    inputs = keras.Input((6, 6, 3))
    x = keras.layers.Conv2D(4, 3, padding="same", activation="relu", name="conv0")(inputs)
    y = keras.layers.Conv2D(4, 3, padding="same", name="conv1")(x)
    y = keras.layers.BatchNormalization(name="norm1")(y)
    y = keras.layers.ReLU(name="relu1")(y)
    y = keras.layers.Conv2D(4, 3, padding="same", name="conv2")(y)
    y = keras.layers.BatchNormalization(name="norm2")(y)
    y = keras.layers.ReLU(name="relu2")(keras.layers.Add(name="add")([x, y]))
    y = keras.layers.SeparableConv2D(5, 3, name="separable")(y)
    y = keras.layers.DepthwiseConv2D(2, depth_multiplier=2, name="depthwise")(y)
    tail = stack((10,), keras.layers.Dense(3, name="logits"), name="tail")
    model = keras.Model(inputs, tail(keras.layers.GlobalMaxPooling2D()(y)))
    rng = np.random.default_rng(1)
    for norm in ("norm1", "norm2"):
        model.get_layer(norm).set_weights(
            [rng.normal(size=4), rng.normal(size=4), rng.normal(size=4), rng.random(4)]
        )
    return model


IMAGES = np.random.default_rng(2).normal(size=(5, 6, 6, 3)).astype(np.float32)


def chip(model, images=IMAGES, **settings):
    settings = {"axis": -1, "gradient_data": (images, images), **settings}
    return prune(model, 0.5, method="chip", granularity="channel", **settings)


@pytest.mark.parametrize(
    ("layer", "axis", "tap"),
    [
        ("conv0", -1, "conv0"),  # its activation is its own
        ("conv1", -1, "relu1"),
        ("conv2", -1, "relu2"),  # after the addition
        ("conv2", -2, "relu1"),
        ("separable", -1, "separable"),
        ("depthwise", -1, "depthwise"),
        ("depthwise", -2, "separable"),
    ],
)
def test_maps_are_those_after_the_activation_or_before_the_layer(layer, axis, tap):
    model = residual_net()
    wanted = keras.Model(model.input, model.get_layer(tap).output)(IMAGES).numpy()
    kernel = "pointwise_kernel" if layer == "separable" else "kernel"
    name = f"{layer}/{kernel}"
    [found] = feature_maps(model, {name: find_kernels(model)[name]}, IMAGES, axis=axis).values()
    assert_allclose(found, np.moveaxis(wanted, -1, 1).reshape(5, wanted.shape[-1], -1), atol=1e-6)


def test_a_subclassed_model_is_watched_too_and_a_layer_that_is_called_twice_has_all_its_maps():
    class Twice(keras.Model):
        def __init__(self):
            super().__init__()
            self.conv = keras.layers.Conv2D(3, 3, padding="same", name="conv")
            self.relu = keras.layers.ReLU()

        def call(self, images):
            return self.relu(self.conv(self.relu(self.conv(images))))

    model = Twice()
    model(IMAGES)
    [maps] = feature_maps(model, find_kernels(model), IMAGES, axis=-1).values()
    assert maps.shape == (5, 3, 72)
    assert_allclose(maps[:, :, 36:], np.moveaxis(model(IMAGES), -1, 1).reshape(5, 3, 36), atol=1e-6)


@pytest.mark.parametrize("axis", [-2, -1])
def test_the_least_independent_channels_go(axis):
    model = residual_net()
    images = np.concatenate([IMAGES] * 30)  # more than one batch
    maps = feature_maps(model, {"k": model.get_layer("conv1").kernel}, IMAGES, axis=axis)[
        "k"
    ].numpy()
    masks = chip(model, images, axis=axis, layers=["conv1"])
    assert not any("call" in vars(layer) for layer in model._flatten_layers())
    kept = np.moveaxis(masks["conv1/kernel"], axis, 0).reshape(4, -1)
    assert_array_equal(kept.all(axis=1), kept.any(axis=1))
    assert_array_equal(np.flatnonzero(kept.any(axis=1)), np.sort(np.argsort(by_svd(maps))[2:]))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"axis": -2, "layers": "separable"},
            "'chip' for 'separable/pointwise_kernel' of a SeparableConv2D layer, .*observable inputs",
        ),
        ({"axis": -1, "layers": "separable"}, "'separable/depthwise_kernel' .*observable outputs"),
    ],
)
def test_refusals(settings, message):
    assert_refused(message, chip, residual_net(), **settings)


def test_maps_of_a_grouped_convolution_are_more_than_its_kernel_has_channels():
    model = stack((6, 6, 4), keras.layers.Conv2D(4, 3, groups=2, name="grouped"))
    images = np.ones((2, 6, 6, 4), np.float32)
    assert_refused(
        r"'chip' for '.*grouped/kernel', 2 channels with 4 maps", chip, model, images, axis=-2
    )
