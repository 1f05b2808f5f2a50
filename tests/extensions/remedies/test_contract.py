"""What every remedy has to keep, in any order of the callbacks, with masks or without."""

import json
import subprocess

import keras
import numpy as np
import pytest
import tensorflow as tf
from numpy.testing import assert_array_equal

import tfaudit
from tests.builders.equality import assert_all_close
from tests.builders.refusals import assert_refused
from tests.builders.small_nets import OwnStep, assert_same_weights
from tests.extensions.remedies.nets import HELD_OUT, compiled, fit, net
from tfaudit import Distillation, HoldMasks

TEACHER = net(7)

REMEDIES = {
    "distillation": lambda: Distillation(TEACHER, weight=2.0, focus=(0.5, 2.0)),
}
"""Every remedy; most contracts are tested of all of them in one fit."""

every = pytest.mark.parametrize("make", REMEDIES.values(), ids=REMEDIES)


def all_remedies():
    return [make() for make in REMEDIES.values()]


def trained(remedies, *others, model=None, **settings):
    model = model or compiled(net())
    return model, fit(model, *remedies, *others, **settings)


@pytest.mark.slow
@every
def test_it_changes_training_and_leaves_the_model_as_it_was(make):
    """A fit after it is a plain one: the same weights as of another model that begins with these."""
    model, history = trained([make()], validation_data=HELD_OUT)
    plain, _ = trained([])
    assert any(
        not np.allclose(a, b) for a, b in zip(model.get_weights(), plain.get_weights(), strict=True)
    )
    assert set(history.history) >= {"loss", "val_loss"}
    assert not {"compute_loss", "train_step"} & set(vars(model))
    assert_next_fit_is_plain(model)


def assert_next_fit_is_plain(model):
    twin = compiled(net())
    for each in (model, twin):
        each.optimizer.build(each.trainable_variables)
    twin.set_weights(model.get_weights())
    for mine, its in zip(twin.optimizer.variables, model.optimizer.variables, strict=True):
        mine.assign(its)
    fit(model)
    fit(twin)
    assert_same_weights(model, twin, atol=1e-6)


@pytest.mark.slow
def test_masks_stay_in_any_order_of_the_callbacks():
    def pruned():
        model = compiled(net())
        return model, tfaudit.prune(model, 0.5)

    ends = []
    for order in [(0, 1), (1, 0)]:
        model, masks = pruned()
        callbacks = [*all_remedies(), HoldMasks(masks)]
        fit(model, *(callbacks[i] for i in order))
        for weight in model.weights:
            if weight.path in masks:
                assert_array_equal(weight.numpy() != 0, masks[weight.path])
        ends.append(model)
    for model in ends[1:]:
        assert_same_weights(ends[0], model, atol=1e-6)


@pytest.mark.slow
def test_several_steps_per_execution_and_eager_steps():
    one, _ = trained(all_remedies())
    eager, _ = trained(all_remedies(), model=compiled(net(), run_eagerly=True))
    assert_same_weights(one, eager, atol=1e-5)
    several, _ = trained(all_remedies(), model=compiled(net(), steps_per_execution=4))
    assert_same_weights(one, several, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16"])
def test_mixed_precision(policy):
    plain, _ = trained(all_remedies())
    optimizer = keras.optimizers.SGD(0.1, momentum=0.9)
    if policy == "mixed_float16":
        optimizer = keras.optimizers.LossScaleOptimizer(optimizer, initial_scale=256.0)
    model, history = trained(
        all_remedies(), model=compiled(net(policy=policy), optimizer=optimizer)
    )
    assert np.isfinite(history.history["loss"]).all()
    assert_same_weights(model, plain, atol=0.2)


def test_a_checkpoint_within_the_fit_is_an_ordinary_model(tmp_path):
    path = tmp_path / "epoch.keras"
    model, _ = trained(all_remedies(), keras.callbacks.ModelCheckpoint(path, save_best_only=False))
    loaded = keras.models.load_model(path)
    assert_same_weights(loaded, model, atol=0)
    assert [w.path.split("/")[-2:] for w in loaded.weights] == [
        w.path.split("/")[-2:] for w in model.weights
    ]


class OwnLoss(keras.Model):
    """A loss of the user's own, in the form that Keras had before 3.3."""

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None):
        return super().compute_loss(x, y, y_pred, sample_weight)


class NeverAsks(OwnStep):
    """A training step that computes its loss itself."""

    def loss_of(self, x, y, weights):
        losses = keras.losses.sparse_categorical_crossentropy(y, self(x), from_logits=True)
        return tf.reduce_mean(losses)


@pytest.mark.slow
@pytest.mark.parametrize("cls", [OwnStep, OwnLoss])
def test_own_training_steps_and_losses(cls):
    one, _ = trained(all_remedies())
    other, _ = trained(all_remedies(), model=compiled(net(cls=cls)))
    assert_same_weights(one, other, atol=1e-6)


@every
def test_a_training_step_that_computes_its_loss_itself_is_refused_before_a_step(make):
    model = compiled(net(cls=NeverAsks))
    before = model.get_weights()
    assert_refused(
        r"model: got 'never_asks.*', whose train_step never calls compute_loss", fit, model, make()
    )
    assert_all_close(before, model.get_weights())
    fit(model)  # the remedies are gone


class Interrupt(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        raise KeyboardInterrupt


@pytest.mark.slow
def test_an_interrupted_fit_leaves_no_remedy_in_the_next():
    model = compiled(net())
    with pytest.raises(KeyboardInterrupt):
        fit(model, *all_remedies(), Interrupt())
    assert_next_fit_is_plain(model)


def test_the_class_is_refused():
    assert_refused(
        "callbacks: got the class of a callback, expected an instance",
        fit,
        compiled(net()),
        Distillation,
    )


MIRRORED = """
import json
import keras, tensorflow as tf
[cpu] = tf.config.list_physical_devices("CPU")
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
import tfaudit
from tests.extensions.remedies.nets import compiled, fit, net


def run(strategy):
    with strategy.scope():
        model = compiled(net())
    teacher = net(7)
    masks = tfaudit.prune(model, 0.5)
    fit(model, tfaudit.HoldMasks(masks), tfaudit.Distillation(teacher, focus=(0.5, 1.0)))
    return model


one = run(tf.distribute.get_strategy())
two = run(tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"]))
print(json.dumps({
    "replicas": two.distribute_strategy.num_replicas_in_sync,
    "difference": float(max(abs(a - b).max() for a, b in zip(one.get_weights(), two.get_weights()))),
    "copies": all((c.numpy() == w.value.values[0].numpy()).all() for w in two.weights for c in w.value.values),
}))
"""


@pytest.mark.nightly  # members that are pruned train on two devices every day
def test_two_replicas_train_as_one(warm_python):
    done = subprocess.run(
        [*warm_python, "-c", MIRRORED], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    result = json.loads(done.stdout.splitlines()[-1])
    assert result["replicas"] == 2
    assert result["copies"]
    assert result["difference"] < 1e-5


def test_a_training_loop_of_its_own_is_refused_at_its_end():
    model, remedy = compiled(net()), REMEDIES["distillation"]()
    remedy.set_model(model)
    remedy.on_train_begin()
    assert_refused(
        "callbacks: got Distillation in a training loop that does not use it", remedy.on_train_end
    )
    assert not {"compute_loss", "train_step"} & set(vars(model))


def test_a_model_without_an_optimizer_is_refused():
    remedy = REMEDIES["distillation"]()
    remedy.set_model(net())
    assert_refused("model: got a model without an optimizer, expected", remedy.on_train_begin)
