"""Micro-batches: the step of a whole batch, to rounding, whatever acts on it."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from numpy.testing import assert_allclose

from tests.builders.nightly import first_and_nightly
from tests.builders.refusals import assert_refused
from tests.builders.stacks import stack
from tfaudit import Distillation, Pruning
from tfaudit.compress.micro_batches import MicroBatches

pytestmark = pytest.mark.slow

RNG = np.random.default_rng(0)
IMAGES = RNG.random((100, 6, 6, 1), dtype="float32")
LABELS = np.arange(100) % 4
DECAY = keras.optimizers.schedules.CosineDecay(0.02, 6)


def net():
    keras.utils.set_random_seed(1)
    return stack(
        (6, 6, 1),
        keras.layers.Conv2D(4, 3, activation="relu"),
        keras.layers.Flatten(),
        keras.layers.Dense(4),
    )


def trained(micro_batch, optimizer=None, *, callbacks=(), **settings):
    """Six steps of 48 images; an epoch ends with a batch of four."""
    model = net()
    keras.utils.set_random_seed(2)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(
        optimizer or keras.optimizers.SGD(DECAY, momentum=0.9),
        loss,
        metrics=["accuracy"],
        **settings,
    )
    if micro_batch:
        model.train_step = MicroBatches(model, micro_batch)
    batches = tf.data.Dataset.from_tensor_slices((IMAGES, LABELS)).batch(48).repeat()
    history = model.fit(
        batches, steps_per_epoch=3, epochs=2, verbose=0, callbacks=list(callbacks), shuffle=False
    )
    return model, history.history


def assert_equal_training(one, other, rtol=2e-5):
    (a, before), (b, after) = one, other
    for first, second in zip(a.weights, b.weights, strict=True):
        assert_allclose(first.numpy(), second.numpy(), rtol=rtol, atol=2e-6)
    for name in ("loss", "accuracy"):
        assert_allclose(before[name], after[name], rtol=1e-5)
    counts = [int(model.optimizer.iterations.numpy()) for model in (a, b)]
    assert counts == [6, 6]


OPTIMIZERS = {
    "sgd with clipping and averages": lambda: keras.optimizers.SGD(
        DECAY, clipnorm=0.1, use_ema=True, ema_momentum=0.5, ema_overwrite_frequency=2
    ),
    "adamw": lambda: keras.optimizers.AdamW(DECAY, weight_decay=0.1, global_clipnorm=0.5),
    "lion": lambda: keras.optimizers.Lion(1e-3),
    "adam": lambda: keras.optimizers.Adam(DECAY),
    "adagrad": lambda: keras.optimizers.Adagrad(DECAY),
    "adadelta": lambda: keras.optimizers.Adadelta(1.0),
    "adamax": lambda: keras.optimizers.Adamax(DECAY),
    "ftrl": lambda: keras.optimizers.Ftrl(DECAY),
    "lamb": lambda: keras.optimizers.Lamb(DECAY),
    "nadam": lambda: keras.optimizers.Nadam(0.01),
    "rmsprop": lambda: keras.optimizers.RMSprop(DECAY),
}


@pytest.mark.parametrize("name", first_and_nightly(OPTIMIZERS, 2))
def test_every_optimizer_makes_the_steps_of_the_whole_batch(name):
    make = OPTIMIZERS[name]
    assert_equal_training(trained(None, make()), trained(16, make()), rtol=1e-3)


@pytest.mark.parametrize(
    "settings",
    first_and_nightly([{"steps_per_execution": 3}, {"jit_compile": True}, {"run_eagerly": True}]),
    ids=str,
)
def test_compiled_eager_and_several_steps_at_once_and_sizes_that_leave_a_rest(settings):
    assert_equal_training(trained(None), trained(20, **settings))


def test_masks_follow_their_schedule_by_steps_of_the_optimizer():
    pruned = []
    for size in (None, 16):
        callback = Pruning(0.75)
        pruned.append(trained(size, callbacks=[callback]))
        assert callback.masked_share() == pytest.approx(0.75, abs=0.02)
    assert_equal_training(*pruned)


def test_distillation_adds_the_same_term_and_the_step_is_the_models_own_afterwards():
    results = [trained(size, callbacks=[Distillation(net())]) for size in (None, 16)]
    assert_equal_training(*results)
    model, _ = results[1]
    assert isinstance(model.train_step, MicroBatches)
    assert model.train_step.train_step.__self__ is model


def test_mixed_precision():
    keras.config.set_dtype_policy("mixed_float16")
    try:
        mixed, history = trained(16)
    finally:
        keras.config.set_dtype_policy("float32")
    assert np.isfinite(history["loss"]).all()
    assert int(mixed.optimizer.iterations.numpy()) == 6


def test_batch_normalisation_moves_its_averages_once_for_each_micro_batch():
    model = stack((2,), keras.layers.BatchNormalization(momentum=0.5))
    model.compile("sgd", "mse")
    model.train_step = MicroBatches(model, 8)
    model.fit(np.ones((32, 2)), np.ones((32, 2)), batch_size=32, verbose=0)
    assert_allclose(model.layers[0].moving_mean.numpy(), 1 - 0.5**4)


def test_a_step_that_applies_gradients_twice_is_refused():
    class Twice(keras.Sequential):
        def train_step(self, data):
            super().train_step(data)
            return super().train_step(data)

    model = Twice([keras.Input((2,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    model.train_step = MicroBatches(model, 2)
    assert_refused("applies gradients 2 times", model.fit, np.ones((4, 2)), np.ones(4), verbose=0)
