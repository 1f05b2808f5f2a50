"""Nets with channels that contribute nothing, and the comparison of a net with its shrunk self."""

import keras
import numpy as np

from tfaudit.extensions.shrinking.shrink import shrink


def lively(model, seed=0):
    """Biases and normalisation off their initial zeros and ones, where wrong constants would not show."""
    rng = np.random.default_rng(seed)
    for weight in model.weights:
        if weight.name in ("bias", "beta", "moving_mean"):
            weight.assign(rng.normal(0, 0.5, weight.shape))
        if weight.name in ("gamma", "moving_variance"):
            weight.assign(rng.uniform(0.5, 1.5, weight.shape))
    return model


def silence(model, layer, channels, axis=-1):
    """Zeros for these channels of the kernel of a layer."""
    layer = model.get_layer(layer)
    kernel = next(weight for weight in layer.weights if weight.name.endswith("kernel"))
    values = np.moveaxis(kernel.numpy(), axis, 0)
    values[list(channels)] = 0
    kernel.assign(np.moveaxis(values, 0, axis))


def silence_share(model, share, seed=0):
    """Zeros for a share of the output channels of every convolution and dense layer but the last one with weights."""
    rng = np.random.default_rng(seed)
    kernels = [weight for weight in model.weights if weight.name == "kernel"]
    for kernel in kernels[:-1]:
        values, count = kernel.numpy(), kernel.shape[-1]
        values[..., rng.choice(count, int(count * share), replace=False)] = 0
        kernel.assign(values)
    return model


def assert_same_outputs(model, shrunk, examples=3, atol=1e-5):
    rng = np.random.default_rng(1)
    inputs = [
        rng.normal(size=(examples, *tensor.shape[1:])).astype(np.float32) for tensor in model.inputs
    ]
    inputs = inputs if len(inputs) > 1 else inputs[0]
    for got, want in zip(
        keras.tree.flatten(shrunk(inputs, training=False)),
        keras.tree.flatten(model(inputs, training=False)),
        strict=True,
    ):
        want = want.numpy()
        assert np.abs(want).max() > 1e-3
        np.testing.assert_allclose(
            got.numpy(), want, rtol=0, atol=atol * max(1, np.abs(want).max())
        )


def shrunk_channels(model, atol=1e-5):
    """Channels of each layer after shrinking, once the outputs are seen to be the same."""
    result = shrink(model)
    assert_same_outputs(model, result.model, atol=atol)
    frame = result.frame()
    assert frame["parameters_before"].sum() == model.count_params()
    assert frame["parameters_after"].sum() == result.model.count_params()
    return dict(zip(frame["layer"], frame["channels_after"], strict=True))
