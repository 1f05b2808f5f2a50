"""Definitions of pruning in NumPy, with which the tests of pruning compare."""

import numpy as np

from tfaudit.compress.pruning.pruning_method import PruningMethod


def keep_count(size, sparsity):
    """How many of `size` weights stay, in float32 as TF-MOT rounds."""
    count = np.rint(np.float32(size) * (np.float32(1) - np.float32(sparsity)))
    return min(max(int(count), 1), size)


def highest(scores, sparsity):
    """The mask of the highest scores, ranked by (score, position)."""
    order = np.argsort(-scores.ravel(), kind="stable")
    mask = np.zeros(scores.size, bool)
    mask[order[: keep_count(scores.size, sparsity)]] = True
    return mask.reshape(scores.shape)


def loss_gradients(model, kernels, data, of="loss"):
    """The gradients over which gradient pruning scores."""
    return PruningMethod("gradient", gradient=of).measured(model, kernels, data)
