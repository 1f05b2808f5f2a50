"""What `Pruning` refuses, where TF-MOT silently prunes nothing."""

import re

import keras
import numpy as np
import pytest

from tests.builders.refusals import assert_refused
from tests.builders.small_nets import STEPS, X, Y, compiled, fit, small_model, zeros, zeros_at
from tests.builders.stacks import stack
from tfaudit.compress.pruning.one_shot import prune
from tfaudit.compress.pruning.pruning import Pruning
from tfaudit.compress.pruning.schedules import ConstantSparsity, PolynomialDecay


def generator():
    for i in range(STEPS):
        yield X[8 * i : 8 * i + 8], Y[8 * i : 8 * i + 8]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Your input ran out of data")
def test_data_of_unknown_length():
    model = small_model()
    assert_refused(
        r"expected steps_per_epoch in fit, .* or a schedule",
        model.fit,
        generator(),
        shuffle=False,
        verbose=0,
        callbacks=[Pruning(0.5)],
    )
    model.fit(generator(), shuffle=False, verbose=0, callbacks=[Pruning(ConstantSparsity(0.5, 3))])
    assert zeros(model) == zeros_at(0.5)
    model = small_model()
    assert_refused(
        r"which pruned nothing in this fit, .* the optimizer has done 1\d steps",
        model.fit,
        generator(),
        shuffle=False,
        verbose=0,
        callbacks=[Pruning(ConstantSparsity(0.5, 99))],
    )


def frozen():
    model = small_model()
    model.trainable = False
    return compiled(model)


def no_kernel():
    return compiled(stack((6,), keras.layers.BatchNormalization(), name="bare"))


@pytest.mark.parametrize(
    ("model", "pruning", "message"),
    [
        (
            small_model,
            lambda: Pruning(ConstantSparsity(0.5, 100)),
            "schedule: got ConstantSparsity(target_sparsity=0.5, begin_step=100, end_step=-1, frequency=100), which "
            "never prunes in this fit, expected a schedule that prunes in steps 1 to 24 of the optimizer",
        ),
        (
            small_model,
            lambda: Pruning(PolynomialDecay(0, 0.5, 24, 48, frequency=24)),
            "never prunes in this fit",
        ),
        (small_model, lambda: Pruning(0.5, layers=["hiden"]), "with a kernel: 'hidden', 'logits'"),
        (small_model, lambda: Pruning(0.5, layers=[]), "layers: got an empty list"),
        (no_kernel, lambda: Pruning(0.5), "model: got 'bare', which has nothing to prune"),
        (
            frozen,
            lambda: Pruning(0.5),
            "layers: got frozen layers only, expected a trainable layer; tfaudit.prune prunes frozen ones",
        ),
    ],
)
@pytest.mark.filterwarnings("ignore:The model does not have any trainable weights")
def test_what_would_silently_prune_nothing_is_an_error(model, pruning, message):
    model = model()
    assert_refused(re.escape(message), fit, model, pruning())
    assert "make_train_function" not in vars(model)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"schedule": 1.0},
            "schedule: got 1.0, expected a schedule or a number in [0, 1)",
        ),
        ({"schedule": float("nan")}, "got nan"),
    ],
)
def test_settings_that_cannot_be_used(settings, message):
    assert_refused(re.escape(message), Pruning, **settings)


def test_there_are_no_masks_before_a_fit():
    assert_refused("masks: got no fit, expected", Pruning(0.5).masks)


def test_weights_that_are_no_numbers_are_not_ranked():
    model = stack((2,), keras.layers.Dense(2, name="only"), name="net")
    model.layers[0].kernel.assign([[1.0, np.nan], [3.0, -2.0]])
    assert_refused("weights: got NaN or infinity in 'net/only/kernel'", prune, model, 0.5)
