"""Layers written from their definition, to hold networks against."""

import numpy as np


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
