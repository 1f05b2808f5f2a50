"""`Pruning` in `model.fit`: every way to train gives the same masks."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from numpy.testing import assert_array_equal

from tests.builders.nightly import first_and_nightly
from tests.builders.refusals import assert_refused
from tests.builders.small_nets import (
    DENSE,
    WithoutInputs,
    assert_equal_masks,
    assert_same_weights,
    assert_zero_outside,
    compiled,
    fit,
    gradual,
    small_model,
    zeros,
    zeros_at,
)
from tfaudit.compress.pruning.pruning import Pruning
from tfaudit.compress.pruning.schedules import ConstantSparsity

pytestmark = pytest.mark.slow


def test_masks_weights_and_logs_agree(reference):
    model, masks, history = reference
    assert list(masks) == ["hidden/kernel", "logits/kernel"]
    assert zeros(model) == zeros_at(0.8)
    assert_zero_outside(model, masks)
    assert history["sparsity"][-1] == pytest.approx(sum(zeros_at(0.8).values()) / 160)
    assert 0 < history["sparsity"][0] < history["sparsity"][1]


@pytest.mark.parametrize(
    "compiling",
    first_and_nightly(
        [
            {"steps_per_execution": 4},
            {"run_eagerly": True},
            {"steps_per_execution": 7},
            {"jit_compile": True},
        ],
        always=2,
    ),
    ids=str,
)
def test_every_way_to_compile_gives_the_same(reference, compiling):
    model, pruning = small_model(**compiling), gradual()
    fit(model, pruning)
    assert_same_weights(model, reference[0], atol=1e-6)
    assert_equal_masks(pruning.masks(), reference[1])


def test_a_custom_train_step_gives_the_same(reference):
    model = small_model(WithoutInputs)
    fit(model, gradual())
    assert_same_weights(model, reference[0], atol=1e-6)


SGD = keras.optimizers.SGD


@pytest.mark.parametrize(
    ("optimizer", "policy"),
    [
        (
            lambda: keras.optimizers.LossScaleOptimizer(SGD(0.1), initial_scale=128.0),
            "mixed_float16",
        ),
        (lambda: keras.optimizers.Adam(1e-2, gradient_accumulation_steps=3), "mixed_bfloat16"),
        (lambda: SGD(0.1, use_ema=True, ema_momentum=0.9), None),
    ],
    ids=["float16", "bfloat16, accumulated gradients", "averaged weights"],
)
def test_every_precision_and_optimizer_reaches_its_sparsity(optimizer, policy):
    model = small_model(policy=policy, optimizer=optimizer())
    fit(model, gradual())
    assert zeros(model) == zeros_at(0.8)
    assert model.get_layer("hidden").kernel.value.dtype == tf.float32


def test_a_constraint_of_the_user_holds_below_the_mask_and_comes_back():
    model = small_model()
    norm = keras.constraints.MaxNorm(0.5)
    model.get_layer("hidden").kernel.constraint = norm
    fit(model, gradual())
    assert zeros(model) == zeros_at(0.8)
    assert (np.linalg.norm(model.get_layer("hidden").kernel.numpy(), axis=0) < 0.5 + 1e-5).all()
    assert model.get_layer("hidden").kernel.constraint is norm
    assert model.get_layer("logits").kernel.constraint is None


def test_frozen_kernels_are_pruned_with_the_others(reference):
    model = small_model()
    model.get_layer("hidden").trainable = False
    compiled(model)
    before = model.get_layer("hidden").kernel.numpy()
    with pytest.warns(
        UserWarning,
        match="kernels of frozen layers are pruned too: hidden/kernel; trainable_only=True",
    ):
        fit(model, gradual())
    after = model.get_layer("hidden").kernel.numpy()
    assert zeros(model) == zeros_at(0.8)
    assert_array_equal(after[after != 0], before[after != 0])


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
    # The first kernel has zeros of the last update between two epochs only.
    with pytest.warns(
        UserWarning,
        match=r"sparsity: reached 0.78 of 0.80: no optimizer updates some of the kernels",
    ):
        fit(model, gradual())
    assert zeros(model)["logits/kernel"] == zeros_at(0.8)["logits/kernel"]


def test_an_optimizer_that_does_two_steps_a_batch_misses_no_update():
    class Twice(keras.Model):
        def train_step(self, data):
            for _ in range(2):
                logs = super().train_step(data)
            return logs

    model = small_model(Twice)
    steps = 4  # as Keras counts them, so that the update seems to fall on the first step of the second epoch
    fit(
        model,
        Pruning(ConstantSparsity(0.5, steps + 1, steps + 1)),
        epochs=2,
        steps_per_epoch=steps,
    )
    assert zeros(model) == zeros_at(0.5)


def test_two_callbacks_prune_different_layers_differently():
    model = small_model()
    fit(model, Pruning(0.5, layers=["hidden"]), Pruning(0.75, layers=["logits"]))
    assert zeros(model) == {"hidden/kernel": 48, "logits/kernel": 48}
    fit(model)
    assert zeros(model) == DENSE
    assert_refused(
        "layers: got 'hidden/kernel', which another callback of this fit prunes",
        fit,
        model,
        Pruning(0.5),
        Pruning(0.5),
    )
    fit(model)
    assert zeros(model) == DENSE
