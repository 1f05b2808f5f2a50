"""Gradients of the loss by kernels, and the identities of undecayed pruning."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from numpy.testing import assert_allclose
from scipy.special import log_softmax

from tests.builders.pruning_reference import loss_gradients
from tests.builders.refusals import assert_refused
from tests.builders.small_nets import EPS, X, Y, decayed_model, small_model
from tests.builders.stacks import stack
from tfaudit.compress.pruning.kernels import find_kernels
from tfaudit.compress.pruning.one_shot import prune


def by_hand(model, name, decay):
    """Central differences of the data loss plus the penalty, over a few entries of a kernel."""
    kernel = find_kernels(model)[name]
    values = kernel.numpy().astype(np.float64)

    def loss(entries):
        kernel.assign(entries)
        logits = model(X).numpy().astype(np.float64)
        data = -log_softmax(logits, axis=1)[np.arange(len(Y)), Y].mean()
        return data + decay / 2 * sum(
            (k.numpy().astype(np.float64) ** 2).sum() for k in find_kernels(model).values()
        )

    found = {}
    for place in [(0, 0), (2, 3), (5, 1)]:
        step = np.zeros_like(values)
        step[place] = 1e-2
        found[place] = (loss(values + step) - loss(values - step)) / 2e-2
    kernel.assign(values)
    return found


@pytest.mark.parametrize(("of", "decay"), [("loss", EPS), ("data", 0.0)])
def test_gradients_equal_differences_of_the_loss(of, decay):
    model = decayed_model()
    found = loss_gradients(model, find_kernels(model), (X, Y), of=of)
    for name in found:
        for place, slope in by_hand(model, name, decay).items():
            assert found[name][place] == pytest.approx(slope, abs=2e-4)


@pytest.mark.parametrize("of", ["loss", "data"])
def test_spared_kernels_may_be_penalised(of):
    model = decayed_model()
    everything = find_kernels(model)
    whole = loss_gradients(model, everything, (X, Y), of=of)
    first = next(iter(everything))
    alone = loss_gradients(model, {first: everything[first]}, (X, Y), of=of)
    assert_allclose(alone[first], whole[first], atol=1e-6)


def test_batches_of_any_size_give_the_mean_over_all_examples():
    model = small_model()
    kernels = find_kernels(model)
    whole = loss_gradients(model, kernels, (X, Y))
    batches = tf.data.Dataset.from_tensor_slices((X, Y)).batch(7)
    for name, values in loss_gradients(model, kernels, batches).items():
        assert_allclose(values, whole[name], atol=1e-6)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"gradient_data": (X, Y[:3])},
            r"gradient_data: got arrays of \d+ and 3 examples, expected inputs and targets of one length",
        ),
        (
            {"gradient_data": [X]},
            r"got a batch of type ndarray, expected batches of \(inputs, targets\)",
        ),
        ({"gradient_data": []}, "gradient_data: got no examples"),
        (
            {"gradient_data": (X * np.nan, Y)},
            "gradient_data: got a gradient of .* with NaN or infinity",
        ),
    ],
)
def test_refusals(settings, message):
    assert_refused(message, prune, small_model(), 0.5, method="gradient", **settings)


def test_a_model_without_a_loss_is_refused():
    model = stack((6,), keras.layers.Dense(2))
    assert_refused(
        "model: got a model without a loss, expected a compiled model",
        prune,
        model,
        0.5,
        method="gradient",
        gradient_data=(X, Y),
    )
