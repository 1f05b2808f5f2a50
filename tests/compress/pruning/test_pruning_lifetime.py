"""`Pruning` over several fits: one trace, interruptions, resumed runs, saved models; nothing stays behind."""

import subprocess

import keras
import pytest
import tensorflow as tf

from tests.builders.equality import assert_all_close
from tests.builders.nightly import first_and_nightly
from tests.builders.small_nets import (
    DENSE,
    POLYNOMIAL,
    Counted,
    assert_equal_masks,
    assert_same_weights,
    compiled,
    fit,
    gradual,
    small_model,
    zeros,
    zeros_at,
)
from tfaudit.compress.pruning.one_shot import prune
from tfaudit.compress.pruning.pruning import Pruning
from tfaudit.compress.pruning.schedules import ConstantSparsity, PolynomialDecay

pytestmark = pytest.mark.slow


def test_dense_then_pruned_then_dense():
    model, twin = small_model(), small_model()
    fit(model)
    fit(twin)
    fit(model, Pruning(0.5))
    assert zeros(model) == zeros_at(0.5)
    twin.set_weights(model.get_weights())
    for mine, theirs in zip(twin.optimizer.variables, model.optimizer.variables, strict=True):
        mine.assign(theirs)
    fit(model)
    fit(twin)  # never saw a mask
    assert_same_weights(model, twin)
    assert zeros(model) == DENSE


def reset(model, weights):
    model.set_weights(weights)
    for variable in model.optimizer.variables:
        if "learning_rate" not in variable.path:
            variable.assign(tf.zeros(variable.shape, variable.dtype))


@pytest.mark.parametrize(
    "schedule",
    first_and_nightly([0.8, POLYNOMIAL]),
    ids=["float", "object"],
)
def test_members_share_one_trace(schedule):
    model, pruning = small_model(Counted), Pruning(schedule)
    start = model.get_weights()
    fit(model, pruning)
    first, traces = model.get_weights(), model.traces
    for _ in range(2):
        reset(model, start)
        fit(model, pruning)
        assert_all_close(model.get_weights(), first)
    assert model.traces == traces
    fit(model)
    dense = model.traces
    fit(model)
    assert model.traces == dense == traces + 1
    compiled(model)
    reset(model, start)
    fit(model, pruning)  # compiled again: must trace again
    assert model.traces > dense
    assert zeros(model) == zeros_at(0.8)


class Stop(keras.callbacks.Callback):
    """Ends a fit with an exception after a step of an epoch."""

    def __init__(self, error, epoch=1):
        super().__init__()
        self.error, self.at, self.now = error, epoch, -1

    def on_epoch_begin(self, epoch, logs=None):
        self.now = epoch

    def on_train_batch_end(self, batch, logs=None):
        if self.now == self.at:
            raise self.error


def test_after_an_exception_the_next_fit_is_a_plain_one_and_another_model_is_pruned():
    model, pruning = small_model(), Pruning(ConstantSparsity(0.5, 1))
    with pytest.raises(KeyboardInterrupt):
        fit(model, pruning, Stop(KeyboardInterrupt))
    assert zeros(model) == zeros_at(0.5)
    other = small_model()
    fit(other, pruning, epochs=1)
    assert zeros(other) == zeros_at(0.5)
    fit(model, epochs=1)
    assert zeros(model) == DENSE
    assert model.get_layer("hidden").kernel.constraint is None
    assert "make_train_function" not in vars(model)


def test_a_callback_may_force_a_new_trace_in_the_middle():
    class Freeze(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            self.model.get_layer("hidden").bias.trainable = False
            self.model.make_train_function(force=True)

    model = small_model(Counted)
    fit(model, Freeze(), Pruning(0.8))
    assert zeros(model) == zeros_at(0.8)
    fit(model)
    assert zeros(model) == DENSE


def test_a_resumed_run_equals_an_uninterrupted_one(reference, tmp_path):
    model = small_model()
    checkpoint = keras.callbacks.ModelCheckpoint(tmp_path / "{epoch}.keras")
    fit(model, gradual(), checkpoint, epochs=1)
    resumed = keras.models.load_model(tmp_path / "1.keras")
    assert zeros(resumed) == zeros(model) != DENSE
    fit(resumed, gradual(), epochs=2, initial_epoch=1)
    assert_same_weights(resumed, reference[0])


def test_a_run_resumed_after_the_last_update_holds_its_masks(tmp_path):
    schedule = PolynomialDecay(0.0, 0.8, 1, 6, frequency=5)
    model, pruning = small_model(), Pruning(schedule)
    fit(model, pruning, epochs=1)
    model.save(tmp_path / "pruned.keras")
    resumed, again = keras.models.load_model(tmp_path / "pruned.keras"), Pruning(schedule)
    fit(resumed, again, epochs=1)
    assert_equal_masks(pruning.masks(), again.masks())
    assert zeros(resumed) == zeros_at(0.8)


def test_saved_models_need_no_tfaudit(warm_python, tmp_path):
    model = small_model()
    fit(model, Pruning(0.8), keras.callbacks.ModelCheckpoint(tmp_path / "{epoch}.keras"))
    model.save(tmp_path / "end.keras")
    script = f"""
import sys
sys.modules["tfaudit"] = None
import keras
for name in ("1", "2", "end"):
    model = keras.models.load_model(f"{tmp_path}/{{name}}.keras")
print(sum(int((weight.numpy() == 0).sum()) for weight in model.weights if weight.name == "kernel"))
"""
    done = subprocess.run(
        [*warm_python, "-c", script], check=True, capture_output=True, text=True, timeout=120
    )
    assert int(done.stdout) == sum(zeros_at(0.8).values())


class Subclassed(keras.Model):
    def __init__(self):
        super().__init__(name="net")
        self.inner = keras.Sequential(
            [keras.layers.Dense(16, activation="tanh", name="first")], name="inner"
        )
        self.attention = keras.layers.MultiHeadAttention(2, 4, name="attention")
        self.cells = keras.layers.GRU(4, name="cells")
        self.last = keras.layers.Dense(4, name="last")

    def call(self, x):
        x = self.inner(x)[:, None, :]
        return self.last(self.cells(self.attention(x, x)))


def test_a_subclassed_model_that_fit_builds():
    model, pruning = compiled(Subclassed()), Pruning(0.5)
    fit(model, pruning)
    names = {name.removeprefix("net/") for name in pruning.masks()}
    attention = {
        f"attention/{part}/kernel" for part in ("query", "key", "value", "attention_output")
    }
    cells = {"cells/gru_cell/kernel", "cells/gru_cell/recurrent_kernel"}
    assert names == {"inner/first/kernel", "last/kernel"} | attention | cells
    assert all(mask.mean() == 0.5 for mask in pruning.masks().values())
    few = prune(model, 0.5, layers=["inner", model.last])
    assert {name.removeprefix("net/") for name in few} == {"inner/first/kernel", "last/kernel"}
