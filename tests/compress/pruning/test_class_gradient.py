"""The score that spares what single classes need, against a network by hand in NumPy."""

import keras
import numpy as np
from scipy.special import softmax

import tfaudit
from tests.builders.equality import assert_all_close
from tests.builders.stacks import stack
from tfaudit.compress.pruning.gradients import batch_gradients
from tfaudit.compress.pruning.kernels import find_kernels

RNG = np.random.default_rng(0)
X = RNG.normal(size=(150, 5)).astype(np.float32)
Y = RNG.choice(3, 150, p=[0.8, 0.15, 0.05])


def net():
    keras.utils.set_random_seed(2)
    model = stack((5,), keras.layers.Dense(4, use_bias=False), keras.layers.Dense(3))
    model.layers[0].kernel.regularizer = keras.regularizers.L2(0.1)  # which no class owns
    model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return model


def by_hand(first, second, bias):
    """Return for both kernels the gradients `(classes, *shape)` of the sums of the classes' losses over N."""
    logits = X @ first @ second + bias
    errors = softmax(logits, axis=1) - np.eye(3)[Y]
    firsts, seconds = [], []
    for c in range(3):
        own = errors * (c == Y)[:, None] / len(X)
        seconds.append((X @ first).T @ own)
        firsts.append(X.T @ (own @ second.T))
    return np.array(firsts), np.array(seconds)


def test_the_masks_keep_the_largest_share_of_any_class():
    model = net()
    kernels = find_kernels(model)
    values = [kernel.numpy() for kernel in kernels.values()]
    wanted = by_hand(*model.get_weights())
    tensors = [kernel.value for kernel in kernels.values()]
    got = batch_gradients(model, kernels, tensors, X, Y, of="data", by_class=True)
    assert_all_close(got, wanted, atol=1e-6)
    importance = [
        np.abs(value * gradients) for value, gradients in zip(values, wanted, strict=True)
    ]
    totals = sum(each.sum(axis=(1, 2)) for each in importance)
    shares = np.concatenate(
        [(each / totals[:, None, None]).max(axis=0).ravel() for each in importance]
    )
    masks = tfaudit.prune(model, 0.5, method="class_gradient", scope="global", gradient_data=(X, Y))
    kept = np.concatenate([mask.ravel() for mask in masks.values()])
    assert kept.sum() == 16
    assert set(np.flatnonzero(kept)) == set(np.argsort(-shares)[:16])
