"""`Pruning` in `model.fit`: every way to train gives the same masks; nothing of it stays on the model."""

import re
import subprocess
import sys

import keras
import numpy as np
import pytest
import tensorflow as tf

from tfaudit.compress import schedules
from tfaudit.compress.masks import keep_count
from tfaudit.compress.pruning import Pruning
from tfaudit.errors import InputError

STEPS = 12
RNG = np.random.default_rng(0)
X = RNG.normal(size=(8 * STEPS, 6)).astype(np.float32)
Y = RNG.integers(0, 4, len(X))
POLYNOMIAL = {"initial": 0.0, "final": 0.8, "begin": 2, "end": 17, "frequency": 5}


class Counted(keras.Model):
    """Counts how often its training step is traced."""

    traces = 0

    def train_step(self, data):
        self.traces += 1
        return super().train_step(data)


def small_model(cls=keras.Model, optimizer=None, policy=None, **compiling):
    keras.utils.set_random_seed(1)
    inputs = keras.Input((6,))
    x = keras.layers.Dense(16, activation="tanh", name="hidden", dtype=policy)(inputs)
    model = cls(inputs, keras.layers.Dense(4, name="logits", dtype=policy)(x))
    return compiled(model, optimizer, **compiling)


def compiled(model, optimizer=None, **compiling):
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(optimizer or keras.optimizers.SGD(0.1, momentum=0.9), loss, **{"jit_compile": False, **compiling})
    return model


def fit(model, *callbacks, epochs=2, **settings):
    settings = {"batch_size": 8, "shuffle": False, "verbose": 0, **settings}
    return model.fit(X, Y, epochs=epochs, callbacks=list(callbacks), **settings)


def assert_same_weights(one, other, atol=0.0):
    for got, want in zip(one.get_weights(), other.get_weights(), strict=True):
        np.testing.assert_allclose(got, want, rtol=0, atol=atol)


def zeros(model):
    return {weight.path: int((weight.numpy() == 0).sum()) for weight in model.weights if weight.name == "kernel"}


def zeros_at(sparsity):
    return {"hidden/kernel": 96 - keep_count(96, sparsity), "logits/kernel": 64 - keep_count(64, sparsity)}


@pytest.fixture(scope="module")
def reference():
    """Weights, masks and losses of a plain pruned fit of two epochs."""
    model, pruning = small_model(), Pruning(schedules.polynomial(**POLYNOMIAL))
    history = fit(model, pruning)
    return model, pruning.masks(), history.history


def test_masks_weights_and_logs_agree(reference):
    model, masks, history = reference
    assert list(masks) == ["hidden/kernel", "logits/kernel"]
    assert zeros(model) == zeros_at(0.8)
    for name, kernel in (
        ("hidden/kernel", model.get_layer("hidden").kernel),
        ("logits/kernel", model.get_layer("logits").kernel),
    ):
        np.testing.assert_array_equal(kernel.numpy() != 0, masks[name])
    assert history["sparsity"][-1] == pytest.approx(sum(zeros_at(0.8).values()) / 160)
    assert 0 < history["sparsity"][0] < history["sparsity"][1]


@pytest.mark.parametrize(
    "compiling",
    [{"steps_per_execution": 4}, {"steps_per_execution": 7}, {"jit_compile": True}, {"run_eagerly": True}],
    ids=str,
)
def test_every_way_to_compile_gives_the_same(reference, compiling):
    model, pruning = small_model(**compiling), Pruning(schedules.polynomial(**POLYNOMIAL))
    fit(model, pruning)
    assert_same_weights(model, reference[0], atol=1e-6)
    assert all((mask == reference[1][name]).all() for name, mask in pruning.masks().items())


def test_a_custom_train_step_gives_the_same(reference):
    class Custom(keras.Model):
        def train_step(self, data):
            x, y = data
            with tf.GradientTape() as tape:
                loss = self.compute_loss(y=y, y_pred=self(x, training=True))
            self.optimizer.apply(tape.gradient(loss, self.trainable_variables), self.trainable_variables)
            return {"loss": loss}

    model = small_model(Custom)
    fit(model, Pruning(schedules.polynomial(**POLYNOMIAL)))
    assert_same_weights(model, reference[0], atol=1e-6)


@pytest.mark.parametrize("scope", ["layer", "global"])
@pytest.mark.parametrize("method", ["magnitude", "random"])
def test_every_method_and_scope_reaches_a_float(method, scope):
    model, pruning = small_model(), Pruning(0.75, method=method, scope=scope, seed=3)
    fit(model, pruning)
    assert sum(zeros(model).values()) == 120
    if scope == "layer":
        assert zeros(model) == zeros_at(0.75)
    again = small_model()
    fit(again, Pruning(0.75, method=method, scope=scope, seed=3))
    assert_same_weights(model, again)


def test_random_masks_grow_and_follow_the_seed():
    early, late, other = (Pruning(s, method="random", seed=seed) for s, seed in ((0.3, 0), (0.6, 0), (0.6, 1)))
    for pruning in (early, late, other):
        fit(small_model(), pruning)
    for name, mask in late.masks().items():
        assert (early.masks()[name] | ~mask).all()
        assert (other.masks()[name] != mask).any()


def test_a_float_reaches_its_sparsity_in_one_step():
    model = small_model()
    fit(model, Pruning(0.5), epochs=1, steps_per_epoch=1)
    assert zeros(model) == zeros_at(0.5)


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16"])
def test_mixed_precision(policy):
    optimizer = keras.optimizers.SGD(0.1)
    if policy == "mixed_float16":
        optimizer = keras.optimizers.LossScaleOptimizer(optimizer, initial_scale=128.0)
    model = small_model(policy=policy, optimizer=optimizer)
    fit(model, Pruning(schedules.polynomial(**POLYNOMIAL)))
    assert zeros(model) == zeros_at(0.8)
    assert model.get_layer("hidden").kernel.value.dtype == tf.float32


def test_gradient_accumulation():
    model = small_model(optimizer=keras.optimizers.Adam(1e-2, gradient_accumulation_steps=3))
    fit(model, Pruning(schedules.polynomial(**POLYNOMIAL)))
    assert zeros(model) == zeros_at(0.8)


def test_averaged_weights_are_masked_too():
    model = small_model(optimizer=keras.optimizers.SGD(0.1, use_ema=True, ema_momentum=0.9))
    fit(model, Pruning(schedules.polynomial(**POLYNOMIAL)))
    assert zeros(model) == zeros_at(0.8)


def test_a_constraint_of_the_user_holds_below_the_mask_and_comes_back():
    model = small_model()
    norm = keras.constraints.MaxNorm(0.5)
    model.get_layer("hidden").kernel.constraint = norm
    fit(model, Pruning(schedules.polynomial(**POLYNOMIAL)))
    assert zeros(model) == zeros_at(0.8)
    assert (np.linalg.norm(model.get_layer("hidden").kernel.numpy(), axis=0) < 0.5 + 1e-5).all()
    assert model.get_layer("hidden").kernel.constraint is norm
    assert model.get_layer("logits").kernel.constraint is None


def test_frozen_kernels_are_pruned_with_the_others(reference):
    model = small_model()
    model.get_layer("hidden").trainable = False
    compiled(model)
    before = model.get_layer("hidden").kernel.numpy()
    fit(model, Pruning(schedules.polynomial(**POLYNOMIAL)))
    after = model.get_layer("hidden").kernel.numpy()
    assert zeros(model) == zeros_at(0.8)
    np.testing.assert_array_equal(after[after != 0], before[after != 0])


def test_a_kernel_without_gradient_does_not_stop_the_others():
    class Half(keras.Model):
        def train_step(self, data):
            x, y = data
            last = self.layers[-1].trainable_variables
            with tf.GradientTape() as tape:
                loss = self.compute_loss(y=y, y_pred=self(x, training=True))
            self.optimizer.build(self.trainable_variables)
            self.optimizer.apply(tape.gradient(loss, last), last)
            return {"loss": loss}

    model = small_model(Half)
    fit(model, Pruning(schedules.polynomial(**POLYNOMIAL)))
    assert zeros(model)["logits/kernel"] == zeros_at(0.8)["logits/kernel"]


def test_two_callbacks_prune_different_layers_differently():
    model = small_model()
    fit(model, Pruning(0.5, layers=["hidden"]), Pruning(0.75, layers=["logits"]))
    assert zeros(model) == {"hidden/kernel": 48, "logits/kernel": 48}
    fit(model)
    assert zeros(model) == {"hidden/kernel": 0, "logits/kernel": 0}
    with pytest.raises(InputError, match="'hidden/kernel' is already pruned by another Pruning callback"):
        fit(model, Pruning(0.5), Pruning(0.5))
    fit(model)
    assert zeros(model) == {"hidden/kernel": 0, "logits/kernel": 0}


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
    assert zeros(model) == {"hidden/kernel": 0, "logits/kernel": 0}


def reset(model, weights):
    model.set_weights(weights)
    for variable in model.optimizer.variables:
        if "learning_rate" not in variable.path:
            variable.assign(tf.zeros(variable.shape, variable.dtype))


@pytest.mark.parametrize("schedule", [0.8, schedules.polynomial(**POLYNOMIAL)], ids=["float", "object"])
def test_members_share_one_trace(schedule):
    model, pruning = small_model(Counted), Pruning(schedule)
    start = model.get_weights()
    fit(model, pruning)
    first, traces = model.get_weights(), model.traces
    for _ in range(2):
        reset(model, start)
        fit(model, pruning)
        for got, want in zip(model.get_weights(), first, strict=True):
            np.testing.assert_array_equal(got, want)
    assert model.traces == traces
    fit(model)
    dense = model.traces
    fit(model)
    assert model.traces == dense == traces + 1
    compiled(model)
    reset(model, start)
    fit(model, pruning)  # compiled anew: must trace anew
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


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_after_an_exception_the_next_fit_is_a_plain_one(error):
    model = small_model()
    with pytest.raises(error):
        fit(model, Pruning(schedules.constant(0.5, 1)), Stop(error))
    assert zeros(model) == zeros_at(0.5)
    fit(model, epochs=1)
    assert zeros(model) == {"hidden/kernel": 0, "logits/kernel": 0}
    assert model.get_layer("hidden").kernel.constraint is None
    assert "make_train_function" not in vars(model)


def test_after_an_exception_pruning_goes_on_as_if_nothing_was(reference):
    model, pruning = small_model(), Pruning(schedules.polynomial(**POLYNOMIAL))
    with pytest.raises(RuntimeError):
        fit(model, pruning, Stop(RuntimeError))  # 13 steps are done
    model.fit(X[8:], Y[8:], batch_size=8, shuffle=False, verbose=0, callbacks=[pruning])  # the other 11
    assert_same_weights(model, reference[0])


def test_after_an_exception_one_may_compile_or_use_another_model():
    model, pruning = small_model(), Pruning(0.8)
    with pytest.raises(RuntimeError):
        fit(model, pruning, Stop(RuntimeError))
    other = small_model()
    fit(other, pruning)
    assert zeros(other) == zeros_at(0.8)
    fit(compiled(model))
    assert zeros(model) == {"hidden/kernel": 0, "logits/kernel": 0}


def test_a_callback_may_force_a_new_trace_in_the_middle():
    class Freeze(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            self.model.get_layer("hidden").bias.trainable = False
            self.model.make_train_function(force=True)

    model = small_model(Counted)
    fit(model, Freeze(), Pruning(0.8))
    assert zeros(model) == zeros_at(0.8)
    fit(model)
    assert zeros(model) == {"hidden/kernel": 0, "logits/kernel": 0}


def test_a_resumed_run_equals_an_uninterrupted_one(reference, tmp_path):
    model = small_model()
    checkpoint = keras.callbacks.ModelCheckpoint(tmp_path / "{epoch}.keras")
    fit(model, Pruning(schedules.polynomial(**POLYNOMIAL)), checkpoint, epochs=1)
    resumed = keras.models.load_model(tmp_path / "1.keras")
    assert zeros(resumed) == zeros(model) != {"hidden/kernel": 0, "logits/kernel": 0}
    fit(resumed, Pruning(schedules.polynomial(**POLYNOMIAL)), epochs=2, initial_epoch=1)
    assert_same_weights(resumed, reference[0])


def test_a_run_resumed_after_the_last_update_holds_its_masks(tmp_path):
    schedule = schedules.polynomial(0.0, 0.8, 1, 6, 5)
    model, pruning = small_model(), Pruning(schedule)
    fit(model, pruning, epochs=1)
    model.save(tmp_path / "pruned.keras")
    resumed, again = keras.models.load_model(tmp_path / "pruned.keras"), Pruning(schedule)
    fit(resumed, again, epochs=1)
    assert all((mask == pruning.masks()[name]).all() for name, mask in again.masks().items())
    assert zeros(resumed) == zeros_at(0.8)


def test_saved_models_need_no_tfaudit(tmp_path):
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
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True, timeout=120)
    assert int(done.stdout) == sum(zeros_at(0.8).values())


class Subclassed(keras.Model):
    def __init__(self):
        super().__init__(name="net")
        self.inner = keras.Sequential([keras.layers.Dense(16, activation="tanh", name="first")], name="inner")
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
    attention = {f"attention/{part}/kernel" for part in ("query", "key", "value", "attention_output")}
    cells = {"cells/gru_cell/kernel", "cells/gru_cell/recurrent_kernel"}
    assert names == {"inner/first/kernel", "last/kernel"} | attention | cells
    assert all(mask.mean() == 0.5 for mask in pruning.masks().values())
    few = Pruning(0.5, layers=["inner", model.last])
    fit(model, few)
    assert {name.removeprefix("net/") for name in few.masks()} == {"inner/first/kernel", "last/kernel"}


def generator():
    for i in range(STEPS):
        yield X[8 * i : 8 * i + 8], Y[8 * i : 8 * i + 8]


@pytest.mark.filterwarnings("ignore:Your input ran out of data")
def test_data_of_unknown_length():
    model = small_model()
    with pytest.raises(InputError, match="give fit steps_per_epoch, or Pruning a TF-MOT schedule"):
        model.fit(generator(), shuffle=False, verbose=0, callbacks=[Pruning(0.5)])
    model.fit(generator(), shuffle=False, verbose=0, callbacks=[Pruning(schedules.constant(0.5, 3))])
    assert zeros(model) == zeros_at(0.5)
    model = small_model()
    with pytest.raises(InputError, match=r"pruned nothing in this fit; the optimizer has done 1\d steps"):
        model.fit(generator(), shuffle=False, verbose=0, callbacks=[Pruning(schedules.constant(0.5, 99))])


def frozen():
    model = small_model()
    model.trainable = False
    return compiled(model)


def no_kernel():
    return compiled(keras.Sequential([keras.Input((6,)), keras.layers.BatchNormalization()], name="bare"))


@pytest.mark.parametrize(
    ("model", "pruning", "message"),
    [
        (
            small_model,
            lambda: Pruning(schedules.constant(0.5, 100)),
            "schedule: ConstantSparsity(target_sparsity=0.5, begin_step=100, end_step=-1, frequency=100) never prunes "
            "in this fit: the optimizer has done 0 steps, the fit does steps 1 to 24",
        ),
        (small_model, lambda: Pruning(schedules.polynomial(0, 0.5, 24, 48, 24)), "never prunes in this fit"),
        (small_model, lambda: Pruning(0.5, layers=["hiden"]), "layers: no layer 'hiden' with a kernel in"),
        (small_model, lambda: Pruning(0.5, layers=["hiden"]), "there are 'hidden', 'logits'"),
        (small_model, lambda: Pruning(0.5, layers=[]), "layers: came empty"),
        (no_kernel, lambda: Pruning(0.5), "model: 'bare' has nothing to prune"),
        (
            frozen,
            lambda: Pruning(0.5),
            "layers: every selected kernel is frozen: prune them at one blow with tfaudit.prune",
        ),
    ],
)
@pytest.mark.filterwarnings("ignore:The model does not have any trainable weights")
def test_what_would_silently_prune_nothing_is_an_error(model, pruning, message):
    model = model()
    with pytest.raises(InputError, match=re.escape(message)):
        fit(model, pruning())
    assert "make_train_function" not in vars(model)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"schedule": 1.0}, "schedule: expected a TF-MOT PruningSchedule or a number in [0, 1), came 1.0"),
        ({"schedule": "0.5"}, "schedule: expected a TF-MOT PruningSchedule or a number in [0, 1), came '0.5'"),
        ({"schedule": float("nan")}, "came nan"),
        ({"schedule": True}, "came True"),
        ({"schedule": 0.5, "method": "size"}, "method: expected 'magnitude' or 'random', came 'size'"),
        ({"schedule": 0.5, "scope": "model"}, "scope: expected 'layer' or 'global', came 'model'"),
        ({"schedule": 0.5, "seed": -1}, "seed: expected an integer >= 0, came -1"),
    ],
)
def test_settings_that_cannot_be_used(settings, message):
    with pytest.raises(InputError, match=re.escape(message)):
        Pruning(**settings)


def test_there_are_no_masks_before_a_fit():
    with pytest.raises(InputError, match="masks: there are none before"):
        Pruning(0.5).masks()
