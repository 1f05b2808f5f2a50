"""Fine-tuning under masks that do not change."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests.builders.refusals import assert_refused
from tests.builders.small_nets import (
    X,
    Y,
    assert_same_weights,
    assert_zero_outside,
    fit,
    small_model,
)
from tfaudit.compress.pruning.hold_masks import HoldMasks
from tfaudit.compress.pruning.kernels import find_kernels
from tfaudit.compress.pruning.one_shot import prune


def plain_masked_sgd(model, masks, rate=0.1):
    """One epoch of SGD on batches of 8 with the masks applied after every step."""
    optimizer = keras.optimizers.SGD(rate, momentum=0.9)
    kernels = find_kernels(model)
    for start in range(0, len(X), 8):
        with tf.GradientTape() as tape:
            loss = model.compute_loss(
                x=X, y=Y[start : start + 8], y_pred=model(X[start : start + 8], training=True)
            )
        variables = model.trainable_variables
        optimizer.apply(tape.gradient(loss, [v.value for v in variables]), variables)
        for name, mask in masks.items():
            kernels[name].assign(kernels[name] * mask)


@pytest.mark.slow
def test_training_equals_masking_by_hand_after_every_step():
    ours, theirs = small_model(), small_model()
    masks, _ = prune(ours, 0.6), prune(theirs, 0.6)
    fit(ours, HoldMasks(masks), epochs=1)
    plain_masked_sgd(theirs, masks)
    assert_same_weights(ours, theirs, atol=1e-6)
    for name, kernel in find_kernels(ours).items():
        assert not kernel.numpy()[~masks[name]].any()


@pytest.mark.slow
def test_masks_may_be_replaced_between_fits_and_the_model_is_free_afterwards():
    model = small_model()
    first = prune(model, 0.5)
    hold = HoldMasks(first)
    fit(model, hold)
    second = prune(model, 0.8)
    hold.masks = second
    fit(model, hold)
    assert_zero_outside(model, second)
    assert all(kernel.constraint is None for kernel in find_kernels(model).values())
    fit(model)
    assert all((kernel.numpy() != 0).all() for kernel in find_kernels(model).values())


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "nope/kernel",
            "masks: got 'nope/kernel', expected kernels of .*: 'hidden/kernel', 'logits/kernel'",
        ),
        ("hidden/kernel", r"masks: got shape \(2, 2\) for 'hidden/kernel', expected \(6, 16\)"),
    ],
)
def test_masks_that_do_not_fit(name, message):
    assert_refused(message, fit, small_model(), HoldMasks({name: np.ones((2, 2), bool)}))


def test_no_masks():
    assert_refused(r"masks: got \{\}, expected the masks that tfaudit.prune returns", HoldMasks, {})
