"""Layers written from their definition, to hold networks against."""

import keras
import numpy as np
from numpy.testing import assert_allclose


def convolve(x, kernel, stride=1):
    """Convolution padded by half the kernel on every side, as PyTorch and Caffe do it."""
    size = kernel.shape[0]
    padded = np.pad(x, [(0, 0), (size // 2, size // 2), (size // 2, size // 2), (0, 0)])
    windows = np.lib.stride_tricks.sliding_window_view(padded, (size, size), axis=(1, 2))[
        :, ::stride, ::stride
    ]
    return np.einsum("bhwcij,ijco->bhwo", windows, kernel, optimize=True)


def batch_norm(x, weights, name):
    mean, variance, gamma, beta = (
        weights[f"{name}/{part}"] for part in ("moving_mean", "moving_variance", "gamma", "beta")
    )
    return (x - mean) / np.sqrt(variance + 1e-5) * gamma + beta


def max_pool(x, size=3, stride=2):
    """TensorFlow's "same": what is missing is added at the lower and the right side first."""
    out = -(-x.shape[1] // stride)
    missing = max((out - 1) * stride + size - x.shape[1], 0)
    pad = (missing // 2, missing - missing // 2)
    padded = np.pad(x, [(0, 0), pad, pad, (0, 0)], constant_values=-np.inf)
    windows = np.lib.stride_tricks.sliding_window_view(padded, (size, size), axis=(1, 2))[
        :, ::stride, ::stride
    ]
    return windows.max(axis=(-1, -2))


def rectified(x):
    return np.maximum(x, 0)


def scramble(model):
    """Give normalisation statistics and gammas as after training: fresh ones would hide where it stands."""
    random = np.random.default_rng(0)
    for layer in model.layers:
        if isinstance(layer, keras.layers.BatchNormalization):
            layer.set_weights([random.uniform(0.5, 1.5, w.shape) for w in layer.get_weights()])


def check_forward_pass(model, features):
    """Hold a network with mean 120 and deviation 60 against `features(x, conv, conv_bn, weights)`, and logits of these.

    `conv(x, layer, stride)` and `conv_bn(x, layer, stride)` apply a layer of the network by its name.
    """
    weights = {v.path: v.numpy().astype(float) for v in model.variables}
    shape = model.input_shape[1:]
    images = np.random.default_rng(0).integers(0, 256, (2, *shape)).astype(np.float32)

    def conv(x, layer, stride=1):
        return convolve(x, weights[f"{layer}/kernel"], stride)

    def conv_bn(x, layer, stride=1):
        return batch_norm(conv(x, layer, stride), weights, f"{layer}_bn")

    x = features((images - 120.0) / 60.0, conv, conv_bn, weights)
    logits = x.mean(axis=(1, 2)) @ weights["logits/kernel"] + weights["logits/bias"]
    assert_allclose(model(images), logits, rtol=1e-4, atol=1e-4)
