"""Every kind of score inside `fit`: against a training loop that is written out, and however Keras compiles it."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests.builders.nightly import first_and_nightly
from tests.builders.pruning_reference import highest, loss_gradients
from tests.builders.small_nets import (
    EPS,
    X,
    Y,
    assert_equal_masks,
    assert_same_weights,
    decayed_model,
    fit,
)
from tfaudit.compress.pruning.channels import expand_channel_mask, norm
from tfaudit.compress.pruning.kernels import find_kernels
from tfaudit.compress.pruning.pruning import Pruning
from tfaudit.compress.pruning.schedules import ConstantSparsity, PolynomialDecay

pytestmark = pytest.mark.slow

DATA = (X[:30], Y[:30])
POLYNOMIAL = PolynomialDecay(0.2, 0.7, begin_step=2, end_step=10, frequency=4)


def scores_by_hand(model, kernels, values, method, gradient):
    """From their definitions, at values without masks; the gradients are those of the model as it is, under masks."""
    if method == "l2":
        return {name: norm(each, (-2,), 2).numpy() for name, each in values.items()}
    slopes = loss_gradients(model, kernels, DATA, of=gradient)
    decay = EPS if method == "undecayed" else 0.0
    return {name: np.abs(decay * each**2 - each * slopes[name]) for name, each in values.items()}


def trained_by_hand(method, gradient):
    """One epoch of steps, each followed by what the callback promises."""
    model = decayed_model()
    kernels, schedule = find_kernels(model), POLYNOMIAL
    kept = {name: np.ones(kernel.shape, bool) for name, kernel in kernels.items()}

    def prune(step):
        values = {name: kernel.numpy() for name, kernel in kernels.items()}
        for name, kernel in kernels.items():
            kernel.assign(values[name] * kept[name])
        due, sparsity = schedule.at(step)
        if due:
            scores = scores_by_hand(model, kernels, values, method, gradient)
            found = {name: highest(each, float(sparsity)) for name, each in scores.items()}
            if method == "l2":
                found = {
                    name: np.asarray(expand_channel_mask(mask, kernels[name].shape, (-2,)))
                    for name, mask in found.items()
                }
            kept.update(found)
            for name, kernel in kernels.items():
                kernel.assign(values[name] * kept[name])

    prune(1)
    for step, start in enumerate(range(0, len(X), 8), 1):
        model.train_on_batch(X[start : start + 8], Y[start : start + 8])
        prune(step + 1)
    return model, kept


def pruning(method, gradient):
    settings = (
        {"granularity": "channel"}
        if method == "l2"
        else {"gradient_data": DATA, "gradient": gradient}
    )
    return Pruning(POLYNOMIAL, method=method, decay=EPS, **settings)


@pytest.mark.parametrize(
    ("method", "gradient"),
    first_and_nightly(
        [("gradient", "loss"), ("undecayed", "data"), ("undecayed", "loss"), ("l2", "loss")],
        always=2,
    ),
)
def test_training_equals_a_loop_that_is_written_out(method, gradient):
    wanted, kept = trained_by_hand(method, gradient)
    model, callback = decayed_model(), pruning(method, gradient)
    fit(model, callback, epochs=1)
    assert_equal_masks(callback.masks(), kept)
    assert_same_weights(model, wanted, atol=1e-5)


def test_taking_gradients_moves_neither_statistics_nor_metrics():
    def net():
        keras.utils.set_random_seed(0)
        inputs = keras.Input((6,))
        x = keras.layers.Dropout(0.5, seed=1)(
            keras.layers.BatchNormalization()(keras.layers.Dense(8)(inputs))
        )
        model = keras.Model(inputs, keras.layers.Dense(4)(x))
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        model.compile("sgd", loss, metrics=["accuracy"], jit_compile=False)
        return model

    plain, other = net(), net()
    tiny = ConstantSparsity(1e-6, 2, 20, 3)  # scores are taken, and nothing goes
    callback = Pruning(
        tiny, method="gradient", gradient_data=tf.data.Dataset.from_tensor_slices(DATA).batch(7)
    )
    first, second = fit(plain, epochs=1), fit(other, callback, epochs=1)
    assert all(mask.all() for mask in callback.masks().values())
    assert first.history["accuracy"] == second.history["accuracy"]
    assert_same_weights(plain, other, atol=1e-6)
