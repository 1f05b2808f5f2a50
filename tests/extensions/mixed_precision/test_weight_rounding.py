"""Rounding of weights: the cases with a known answer, and the error that it is to keep small."""

import keras
import numpy as np
import pytest
from keras import layers
from numpy.testing import assert_allclose

from tests.builders.stacks import stack
from tfaudit.compress.litert.flatbuffer import Flatbuffer
from tfaudit.compress.litert.quantize import quantize
from tfaudit.extensions.mixed_precision.weight_rounding import RoundedWeights, rounded_weights


def nearest(weights, top=7):
    scale = np.abs(weights).max(axis=1, keepdims=True) / top
    return np.rint(weights / scale) * scale


def error(weights, rounded, inputs):
    return (((weights - rounded) @ inputs.T) ** 2).sum()


def test_independent_inputs_round_to_the_nearest(rng, monkeypatch):
    monkeypatch.setattr("tfaudit.extensions.mixed_precision.weight_rounding.RATIOS", np.ones(1))
    weights = rng.normal(size=(5, 300))
    squares = np.diag(rng.uniform(1, 2, 300))
    assert_allclose(rounded_weights(weights, squares, 4), nearest(weights), rtol=1e-5)


def test_two_weights_are_as_good_as_the_best_pair(rng, monkeypatch):
    """All pairs of steps are tried; the largest weight is fixed by the range."""
    monkeypatch.setattr("tfaudit.extensions.mixed_precision.weight_rounding.RATIOS", np.ones(1))
    monkeypatch.setattr("tfaudit.extensions.mixed_precision.weight_rounding.DAMPING", 1e-9)
    inputs = rng.normal(size=(50, 1)) + 0.1 * rng.normal(size=(50, 2))
    inputs[:, 0] *= 2  # its weight is rounded first
    weights = np.array([[0.7, 0.33], [-0.9, 0.55], [0.8, 0.1]])
    found = rounded_weights(weights, inputs.T @ inputs / 50, 4)
    for row, rounded in zip(weights, found, strict=True):
        scale = np.abs(row).max() / 7
        pairs = [np.array([np.sign(row[0]) * 7, step]) * scale for step in range(-7, 8)]
        best = min(error(row[None], pair[None], inputs) for pair in pairs)
        assert_allclose(error(row[None], rounded[None], inputs), best, rtol=1e-4)


@pytest.mark.parametrize("bits", [3, 4])
def test_related_inputs_lose_less_than_with_the_nearest_values(rng, bits):
    inputs = rng.normal(size=(400, 20)) @ rng.normal(size=(20, 150)) + rng.normal(size=(400, 150))
    weights, top = rng.normal(size=(8, 150)), 2 ** (bits - 1) - 1
    rounded = rounded_weights(weights, inputs.T @ inputs / 400, bits)
    steps = rounded / np.abs(rounded).max(axis=1, keepdims=True) * top
    assert_allclose(steps, np.rint(steps), atol=1e-4)  # the range gives the scale again
    assert error(weights, rounded, inputs) < 0.3 * error(weights, nearest(weights, top), inputs)


@pytest.mark.parametrize("dead", [slice(None), slice(3)])
def test_inputs_that_are_always_zero(rng, dead):
    inputs = rng.normal(size=(50, 6))
    inputs[:, dead] = 0
    rounded = rounded_weights(rng.normal(size=(2, 6)), inputs.T @ inputs / 50, 4)
    assert np.isfinite(rounded).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    "settings",
    [{}, {"strides": 2}, {"padding": "same"}, {"padding": "same", "strides": 2, "kernel_size": 4}],
    ids=["valid", "strides", "same", "even"],
)
def test_patches_are_the_inputs_of_a_convolution(rng, settings):
    """Weights for which the first channel alone is rounded: its scores change less than with the nearest values."""
    keras.utils.set_random_seed(1)
    conv = layers.Conv2D(1, **{"kernel_size": 3, **settings})
    model = stack((9, 8, 3), conv, layers.Flatten())
    images = np.cumsum(rng.normal(size=(60, 9, 8, 3)), axis=1).astype(np.float32)
    content = quantize(model, "float32")
    rounding = RoundedWeights(content, [image[None] for image in images], 4)
    (name,) = rounding._kernels
    before, after = (Flatbuffer(one)(images) for one in (content, rounding.file([name])))
    kernel, bias = conv.get_weights()
    conv.set_weights([nearest(kernel.reshape(1, -1)).reshape(kernel.shape), bias])
    plain = model.predict(images, verbose=0)
    assert 0 < np.abs(after - before).mean() < 0.75 * np.abs(plain - before).mean()
    assert rounding.file([]) == content
