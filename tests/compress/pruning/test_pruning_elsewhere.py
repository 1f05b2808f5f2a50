"""`Pruning` and `HoldMasks` in fits on JAX and torch; `tests/compress/test_backends.py` runs this file there."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from numpy.testing import assert_array_equal

from tests.builders.refusals import assert_refused
from tests.builders.stacks import stack
from tfaudit.compress.pruning.hold_masks import HoldMasks
from tfaudit.compress.pruning.pruning import Pruning
from tfaudit.compress.pruning.schedules import ConstantSparsity, PolynomialDecay

BACKEND = keras.backend.backend()
X, Y = np.random.default_rng(0).normal(size=(2, 96, 8)).astype("float32")


def network(**settings):
    layers = [keras.layers.Dense(8, name="one", **settings), keras.layers.Dense(8, name="two")]
    model = stack((8,), *layers)
    model.compile(keras.optimizers.SGD(0.1, momentum=0.9), "mse")
    return model


def fit(model, *callbacks, epochs=2):
    return model.fit(X, Y, 16, epochs, shuffle=False, verbose=0, callbacks=list(callbacks))


def zeros(model):
    return [int((keras.ops.convert_to_numpy(layer.kernel) == 0).sum()) for layer in model.layers]


def test_a_fit_without_the_callback_prunes_nothing_before_or_after():
    model = network()
    fit(model)
    assert zeros(model) == [0, 0]
    fit(model, Pruning(0.75))
    assert zeros(model) == [48, 48]
    fit(model)
    assert zeros(model) == [0, 0]
    assert model.layers[0].kernel.constraint is None
    assert len(model.optimizer.variables) == 6  # steps, rate, a momentum per variable


def test_checkpoints_are_ordinary_files(tmp_path):
    model = network()
    saver = keras.callbacks.ModelCheckpoint(tmp_path / "{epoch}.keras")
    fit(model, Pruning(0.5), saver)
    loaded = keras.saving.load_model(tmp_path / "2.keras")
    assert zeros(loaded) == [32, 32]
    for own, read in zip(model.optimizer.variables, loaded.optimizer.variables, strict=True):
        assert_array_equal(own.numpy(), read.numpy())


def test_an_interrupted_fit_leaves_no_masks():
    class Stop(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            if batch == 3:
                raise KeyboardInterrupt

    model = network()
    with pytest.raises(KeyboardInterrupt):
        fit(model, Pruning(0.75), Stop())
    fit(model)
    assert zeros(model) == [0, 0]
    assert len(model.optimizer.variables) == 6


def test_two_callbacks_prune_different_layers(tmp_path):
    model = network()
    mask = np.arange(64).reshape(8, 8) % 4 == 0
    hold = HoldMasks({"two/kernel": mask})
    saver = keras.callbacks.ModelCheckpoint(tmp_path / "last.keras")
    fit(model, Pruning(0.5, layers="one"), hold, saver)
    assert zeros(model) == [32, 48]
    assert len(keras.saving.load_model(tmp_path / "last.keras").optimizer.variables) == 6
    assert len(model.optimizer.variables) == 6


def test_kernels_keep_their_own_constraints():
    model = network(kernel_constraint=keras.constraints.NonNeg())
    fit(model, Pruning(0.5))
    assert zeros(model)[0] >= 32
    assert model.layers[0].kernel.numpy().min() >= 0


def test_updates_between_epochs_are_those_of_the_schedule():
    model = network()
    pruning = Pruning(
        PolynomialDecay(0.2, 0.8, 1, 13, frequency=6)
    )  # steps 1, 7, 13: the first of each epoch
    history = fit(model, pruning, epochs=3).history
    assert history["sparsity"] == pytest.approx([13 / 64, 0.72, 0.8], abs=0.02)


def test_averaged_weights_have_the_zeros_where_they_are_swapped_in(tmp_path):
    model = network()
    model.compile(keras.optimizers.SGD(0.1, use_ema=True, ema_momentum=0.9), "mse")
    swap = keras.callbacks.SwapEMAWeights(swap_on_epoch=True)
    saver = keras.callbacks.ModelCheckpoint(tmp_path / "last.keras")
    fit(model, swap, saver, Pruning(0.5))
    assert zeros(model) == zeros(keras.saving.load_model(tmp_path / "last.keras")) == [32, 32]


def test_functions_are_schedules():
    model = network()
    fit(model, Pruning(lambda step: ((step % 4 == 1) & (step < 9), 0.5)))
    assert zeros(model) == [32, 32]


@pytest.mark.skipif(BACKEND != "jax", reason="a limit of JAX")
def test_what_jax_cannot_do_is_one_line():
    model = network()
    model.layers[0].trainable = False
    model.compile("sgd", "mse")
    with pytest.warns(match="frozen layers are pruned too"):
        assert_refused(
            "^layers: got frozen layers .* with KERAS_BACKEND=jax", fit, model, Pruning(0.5)
        )
    data = tf.data.Dataset.from_tensor_slices((X, Y)).batch(16).filter(lambda x, y: True)
    unknown = Pruning(lambda step: (step == 2, 0.5))
    refused = "^schedule: got data of unknown length, expected steps_per_epoch"
    assert_refused(refused, network().fit, data, shuffle=False, verbose=0, callbacks=[unknown])


@pytest.mark.filterwarnings("ignore:Your input ran out of data")
def test_data_of_unknown_length():
    data = tf.data.Dataset.from_tensor_slices((X, Y)).batch(16).filter(lambda x, y: True)
    model = network()
    model.fit(
        data,
        epochs=2,
        shuffle=False,
        verbose=0,
        callbacks=[Pruning(ConstantSparsity(0.5, 2, frequency=2))],
    )
    assert zeros(model) == [32, 32]
