"""Training loops without `model.fit`, which report to a `CallbackList`: what is pruned, and what is said."""

import keras
import pytest
import tensorflow as tf

from tests.builders.refusals import assert_refused
from tests.builders.small_nets import DENSE, X, Y, compiled, small_model, zeros, zeros_at
from tfaudit import Distillation, HoldMasks
from tfaudit.compress.pruning.one_shot import prune
from tfaudit.compress.pruning.pruning import Pruning
from tfaudit.errors import Notice

EPOCHS, STEPS = 2, 4


def loop(network, step, *callbacks, begins=True, **settings):
    """Run a loop as Keras' guides write it; return the zeros after its last step."""
    settings = {"model": network, "epochs": EPOCHS, "steps": STEPS, **settings}
    told = keras.callbacks.CallbackList([*callbacks], **settings)
    told.on_train_begin()
    for epoch in range(EPOCHS):
        if begins:
            told.on_epoch_begin(epoch)
        for batch in range(STEPS):
            told.on_train_batch_begin(batch)
            step(X[8 * batch : 8 * batch + 8], Y[8 * batch : 8 * batch + 8])
            told.on_train_batch_end(batch)
        during = zeros(network)
        told.on_epoch_end(epoch, {})
    told.on_train_end()
    return during


def own_step(model, optimizer=None):
    """A step that takes the gradients itself."""
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    optimizer = optimizer or model.optimizer

    def step(x, y):
        with tf.GradientTape() as tape:
            value = loss(y, model(x, training=True))
        variables = model.trainable_variables
        optimizer.apply(tape.gradient(value, variables), variables)

    return step


@pytest.mark.slow
def test_train_on_batch_prunes_and_distils_and_leaves_the_model_free():
    model = small_model()
    masks = prune(small_model(), 0.5)
    remedies = [Distillation(small_model()), Pruning(0.75, layers="hidden")]
    hold = HoldMasks({"logits/kernel": masks["logits/kernel"]})
    during = loop(model, model.train_on_batch, *remedies, hold)
    assert during == zeros(model) == {"hidden/kernel": 72, "logits/kernel": 32}
    assert not {"save", "compute_loss", "make_train_function"} & set(vars(model))
    model.train_on_batch(X, Y)
    assert zeros(model) == DENSE


@pytest.mark.slow
def test_train_on_batch_builds_the_model_that_it_prunes():
    model = compiled(keras.Sequential([keras.layers.Dense(16), keras.layers.Dense(4)]))
    loop(model, model.train_on_batch, Pruning(0.75))
    assert sum(zeros(model).values()) == 120


@pytest.mark.slow
def test_a_step_of_tensorflow_prunes_if_it_is_traced_under_the_masks():
    model = small_model()
    step = tf.function(own_step(model))
    assert loop(model, step, Pruning(0.75)) == zeros_at(0.75)
    with pytest.warns(Notice, match="reached 0.00 of 0.75: .* traced before the masks were on"):
        loop(other := small_model(), traced(other), Pruning(0.75))
    held = HoldMasks(prune(other, 0.5))
    with pytest.warns(Notice, match="50% of the weights were not 0 under their masks until the"):
        loop(other, traced(other), held)
    assert zeros(other) == zeros_at(0.5)


def traced(model):
    """A step that is traced without masks."""
    step = tf.function(own_step(model))
    step(X[:8], Y[:8])
    return step


def test_loops_in_which_nothing_can_be_pruned_are_told():
    model = small_model()

    def idle(x, y):
        pass

    assert_refused(
        "model: got 'functional.*', whose optimizer made no step", loop, model, idle, Pruning(0.5)
    )
    assert_refused(
        "model: got none, expected keras.callbacks.C", loop, model, idle, Pruning(0.5), model=None
    )
    assert_refused("0.5 for data of unknown length", loop, model, idle, Pruning(0.5), steps=None)
    with pytest.warns(Notice, match="nothing was pruned, since no epoch began"):
        loop(model, idle, Pruning(0.5), begins=False)
