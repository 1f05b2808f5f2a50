"""TF-MOT's masks against TF-MOT's own functions, on the same weights."""

import itertools

import keras
import numpy as np
import pytest
import tensorflow as tf
from numpy.testing import assert_array_equal

from tests.builders.refusals import assert_refused
from tests.builders.small_nets import STEPS, fit, small_model
from tests.builders.stacks import stack
from tfaudit.compress.pruning.kernels import find_kernels
from tfaudit.compress.pruning.one_shot import prune
from tfaudit.compress.pruning.pruning import Pruning
from tfaudit.compress.pruning.schedules import ConstantSparsity
from tfaudit.compress.pruning.tfmot_masks import TFMOT


@pytest.fixture(scope="module")
def theirs(tfmot):
    """The mask of TF-MOT's `Pruning` for one kernel."""
    from tensorflow_model_optimization.python.core.sparsity.keras import pruning_impl

    def mask(weights, sparsity, block_size=(1, 1), block_pooling_type="AVG", sparsity_m_by_n=None):
        pruning = pruning_impl.Pruning(
            training_step_fn=lambda: 0,
            pruning_vars=[],
            pruning_schedule=lambda step: (True, tf.constant(sparsity, tf.float32)),
            block_size=block_size,
            block_pooling_type=block_pooling_type,
            sparsity_m_by_n=sparsity_m_by_n,
        )
        return pruning._maybe_update_block_mask(tf.constant(weights))[1].numpy().astype(bool)

    return mask


def with_ties(shape, seed=0):
    return np.round(np.random.default_rng(seed).normal(size=shape), 1).astype(np.float32)


@pytest.mark.parametrize("shape", [(7, 9), (3, 3, 4, 6), (40, 1)])
def test_all_ties_stay(theirs, shape):
    weights = with_ties(shape)
    for sparsity in (0.0, 0.3, 0.5, 0.83, 0.99):
        assert_array_equal(TFMOT().mask(weights, sparsity), theirs(weights, sparsity))


@pytest.mark.parametrize("block", [(1, 4), (4, 1), (2, 3), (5, 5), (6, 4)])
def test_blocks(theirs, block):
    """Also where they do not fit, and with ties of blocks."""
    shapes = [(8, 12), (13, 10), (30, 31)]
    kernels = [with_ties(shape) for shape in shapes]
    kernels += [np.random.default_rng(1).normal(size=shape).astype(np.float32) for shape in shapes]
    for weights, pooling, sparsity in itertools.product(kernels, ("AVG", "MAX"), (0.3, 0.83)):
        found = TFMOT(block, pooling).mask(weights, sparsity)
        assert_array_equal(found, theirs(weights, sparsity, block, pooling))


@pytest.mark.parametrize("m_by_n", [(2, 4), (1, 2), (3, 4), (1, 4), (5, 8)])
def test_m_by_n(theirs, m_by_n):
    for shape in ((8, 5), (10, 3), (3, 3, 6, 4), (1, 1, 16, 2), (3, 7)):
        for weights in (with_ties(shape), np.zeros(shape, np.float32)):
            found = TFMOT(sparsity_m_by_n=m_by_n).mask(weights, 0.5).numpy()
            assert_array_equal(found, theirs(weights, 0.5, sparsity_m_by_n=m_by_n))


def test_prune_takes_it():
    model = small_model()
    kernels = find_kernels(model)
    values = {name: kernel.numpy() for name, kernel in kernels.items()}
    for name, mask in prune(model, 0.5, tfmot=TFMOT((2, 2), "MAX")).items():
        assert_array_equal(kernels[name].numpy(), np.where(mask, values[name], 0))
        assert_array_equal(mask, TFMOT((2, 2), "MAX").mask(values[name], 0.5))
    masks = prune(small_model(), 0.5, tfmot=TFMOT(sparsity_m_by_n=(2, 4)))
    assert masks["logits/kernel"].mean() == 0.5
    assert masks["hidden/kernel"].reshape(6, 16)[:4].mean() == 0.5


@pytest.mark.slow
def test_training_under_blocks():
    model = small_model()
    pruning = Pruning(ConstantSparsity(0.5, 1, 1), tfmot=TFMOT((2, 2)))
    wanted = prune(small_model(), 0.5, tfmot=TFMOT((2, 2)))
    fit(model, pruning, epochs=1, steps_per_epoch=STEPS // 2)
    for name, mask in pruning.masks().items():
        assert_array_equal(mask, wanted[name])
        assert not find_kernels(model)[name].numpy()[~mask].any()


BLOCKS, M_BY_N = TFMOT((2, 2)), TFMOT(sparsity_m_by_n=(2, 4))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"block_size": (0, 2)}, r"block_size: got \(0, 2\), expected two integers >= 1"),
        ({"block_size": 4}, "block_size: got 4, expected two integers >= 1"),
        ({"block_pooling_type": "avg"}, "block_pooling_type: got 'avg', expected 'AVG' or 'MAX'"),
        ({"sparsity_m_by_n": (4, 4)}, r"sparsity_m_by_n: got \(4, 4\), expected m below n"),
        (
            {"sparsity_m_by_n": (2, 4), "block_size": (2, 2)},
            r"block_size: got \(2, 2\), expected \(1, 1\) with sparsity_m_by_n",
        ),
    ],
)
def test_settings_that_cannot_be_used(settings, message):
    assert_refused(message, TFMOT, **settings)


def test_what_it_cannot_be_used_with():
    conv = stack((6, 6, 2), keras.layers.Conv2D(3, 3, name="conv"))
    kernel = r"blocks for '.*conv/kernel' of shape \(3, 3.* kernels of 2 dimensions"
    assert_refused(kernel, prune, conv, 0.5, tfmot=BLOCKS)
    half = r"sparsity: got 0\.7, expected 0\.5, which is 2 of 4 weights"
    assert_refused(half, prune, small_model(), 0.7, tfmot=M_BY_N)
    constant = "tfmot: got sparsity_m_by_n, a constant mask, expected tfaudit.prune"
    assert_refused(constant, Pruning, 0.5, tfmot=M_BY_N)
    for settings in (
        {"method": "random"},
        {"scope": "global"},
        {"method": "l1", "granularity": "channel"},
    ):
        other = "tfmot: got .*, expected method='magnitude'"
        assert_refused(other, prune, small_model(), 0.5, tfmot=TFMOT(), **settings)
