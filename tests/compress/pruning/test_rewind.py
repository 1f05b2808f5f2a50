"""Lottery tickets in `model.fit`: what is remembered, what comes back."""

import keras
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tests.builders.equality import assert_all_close
from tests.builders.refusals import assert_refused
from tests.builders.small_nets import X, Y, compiled, fit, small_model
from tfaudit.compress.pruning.hold_masks import HoldMasks
from tfaudit.compress.pruning.kernels import find_kernels
from tfaudit.compress.pruning.one_shot import prune
from tfaudit.compress.pruning.rewind import Rewind

pytestmark = pytest.mark.slow


def values(model):
    return [variable.numpy() for variable in model.variables]


@pytest.mark.parametrize(("step", "together"), [(0, 1), (5, 1), (6, 3)])
def test_the_weights_of_a_step_come_back_under_the_masks(step, together):
    model, reference = small_model(steps_per_execution=together), small_model()
    rewind = Rewind(step)
    fit(model, rewind)
    if step:
        reference.fit(X[: 8 * step], Y[: 8 * step], batch_size=8, shuffle=False, verbose=0)
    masks = prune(model, 0.6)
    rewind.back(masks)
    for name, kernel in find_kernels(model).items():
        expected = np.where(masks[name], find_kernels(reference)[name].numpy(), 0)
        assert_allclose(kernel.numpy(), expected, atol=1e-7)
    biases = [v.numpy() for v in model.variables if v.name == "bias"]
    for bias, before in zip(
        biases, [v.numpy() for v in reference.variables if v.name == "bias"], strict=True
    ):
        assert_allclose(bias, before, atol=1e-7)


def test_rounds_of_a_lottery_ticket():
    model, rewind = small_model(), Rewind()
    start = values(model)
    fit(model, rewind)
    last = None
    for sparsity in (0.3, 0.5, 0.7):
        masks = prune(model, sparsity)
        rewind.back(masks)
        fit(model, HoldMasks(masks), rewind)  # what it remembers stays
        for name, kernel in find_kernels(model).items():
            assert_array_equal(kernel.numpy() != 0, masks[name])
            assert last is None or not (masks[name] & ~last[name]).any()
        last = masks
    rewind.back({})
    assert_all_close(values(model), start)


def test_refusals():
    assert_refused("step: got -1, expected a whole number of 0 or more", Rewind, -1)
    model, late, rewind = small_model(), Rewind(1000), Rewind()
    fit(model, late, rewind, epochs=1)
    assert_refused("step: got 1000, which no fit reached", late.back, {})
    masks = {"x/kernel": np.ones((2, 2), bool)}
    assert_refused("masks: got 'x/kernel', expected kernels of", rewind.back, masks)
    together = small_model(steps_per_execution=3)
    assert_refused(
        "step: got 5, after which steps_per_execution goes on to", fit, together, Rewind(5)
    )
    unbuilt = compiled(keras.Sequential([keras.layers.Dense(4)]))
    assert_refused("expected a model that is built", fit, unbuilt, Rewind())
