"""Sparsity that is not what was asked is said: LoRA, quantized kernels, other optimizers, early ends, best epochs."""

import warnings
from functools import partial

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests.builders.nightly import first_and_nightly
from tests.builders.refusals import assert_refused
from tests.builders.small_nets import STEPS, X, Y, assert_zero_outside, compiled, fit, small_model
from tests.builders.stacks import stack
from tfaudit.compress.pruning.hold_masks import HoldMasks
from tfaudit.compress.pruning.kernels import find_kernels, select_kernels
from tfaudit.compress.pruning.one_shot import prune
from tfaudit.compress.pruning.pruning import Pruning
from tfaudit.compress.pruning.schedules import PolynomialDecay
from tfaudit.compress.pruning.sparsity import sparsity
from tfaudit.compress.pruning.tfmot_masks import TFMOT
from tfaudit.errors import Notice


def zeros_of(*kernels):
    return float(np.mean(np.concatenate([np.asarray(kernel).ravel() for kernel in kernels]) == 0))


def with_lora():
    model = small_model()
    model.get_layer("hidden").enable_lora(2)
    return compiled(model)


@pytest.mark.slow
def test_lora_fills_the_zeros_of_a_kernel():
    model = with_lora()
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        history = fit(model, Pruning(0.75)).history
    messages = [str(warning.message) for warning in warned]
    assert any(
        "kernels of frozen layers are pruned too: hidden/kernel" in message for message in messages
    )
    reached = zeros_of(model.get_layer("hidden").kernel, model.get_layer("logits").kernel)
    assert history["sparsity"][-1] == pytest.approx(0.75)
    assert history["sparsity_reached"][-1] == pytest.approx(reached)
    assert reached < 0.4
    assert any(
        f"reached {reached:.2f} of 0.75: LoRA fills the zeros of hidden; save and load" in m
        for m in messages
    )
    table = sparsity(model).set_index("kernel")["sparsity"]
    assert table["hidden/kernel"] == zeros_of(model.get_layer("hidden").kernel)
    with pytest.warns(UserWarning, match="LoRA fills the zeros of hidden"):
        prune(model, 0.9)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit(model, Pruning(0.75, trainable_only=True))


def test_kernels_that_keras_has_quantized_are_named():
    model = small_model()
    model.get_layer("hidden").quantize("int8")
    with pytest.warns(
        UserWarning,
        match="layers that Keras has quantized are not pruned: hidden; prune, then quantize",
    ):
        assert list(prune(model, 0.5)) == ["logits/kernel"]


@pytest.mark.slow
def test_a_second_optimizer_takes_steps_that_the_schedule_does_not_see():
    class Alternating(keras.Model):
        """Every other step belongs to an optimizer of its own, as in a GAN."""

        def train_step(self, data):
            x, y = data
            variables = self.trainable_variables
            with tf.GradientTape() as tape:
                loss = self.compute_loss(y=y, y_pred=self(x, training=True))
            gradients = tape.gradient(loss, variables)
            self.turn.assign_add(1)
            own = lambda: self.optimizer.apply(gradients, variables)  # noqa: E731
            tf.cond(self.turn % 8 == 0, own, lambda: self.second.apply(gradients, variables))
            return {"loss": loss}

    model = small_model(Alternating)
    model.turn, model.second = tf.Variable(0), keras.optimizers.SGD(0.1)
    model.optimizer.build(model.trainable_variables)
    model.second.build(model.trainable_variables)
    with pytest.warns(
        UserWarning,
        match=rf"of 0.90: the model's optimizer did 6 steps of {4 * STEPS}, another one",
    ):
        fit(model, Pruning(0.9), epochs=4)


@pytest.mark.slow
def test_a_fit_that_ends_early_is_short_of_its_sparsity():
    class Stop(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            self.model.stop_training = True

    model = small_model()
    with pytest.warns(
        UserWarning,
        match=rf"sparsity: reached 0.\d\d of 0.50: the fit ended after step 12 of {6 * STEPS}",
    ):
        fit(model, Pruning(0.5), Stop(), epochs=6)
    schedule = PolynomialDecay(0.0, 0.5, begin_step=1, end_step=61, frequency=5)
    with pytest.warns(UserWarning, match=r"of 0.50: the fit ended after step 12 of"):
        fit(small_model(), Pruning(schedule), Stop(), epochs=6)
    fit(small_model(), Pruning(schedule), epochs=1)  # a schedule of several fits is not late


class Rising(keras.callbacks.Callback):
    """The second epoch seems the best."""

    def on_epoch_end(self, epoch, logs=None):
        logs["score"] = -abs(epoch - 1)


def best_of(callback, **settings):
    return callback(monitor="score", mode="max", **settings)


def shares(path, model=None):
    """Zeros in the kernels of a saved file, which holds the weights of `model` if it is given."""
    if model is None:
        model = keras.models.load_model(path)
    else:
        model.load_weights(path)
    return zeros_of(*(kernel.numpy() for kernel in find_kernels(model).values()))


@pytest.mark.slow
@pytest.mark.parametrize("first", first_and_nightly([True, False]))
def test_files_and_restored_weights_from_before_the_last_mask_are_named(tmp_path, first):
    every = keras.callbacks.ModelCheckpoint(tmp_path / "{epoch}.keras")
    best = best_of(
        partial(keras.callbacks.ModelCheckpoint, tmp_path / "best.weights.h5"),
        save_best_only=True,
        save_weights_only=True,
    )
    stop = best_of(keras.callbacks.EarlyStopping, patience=9, restore_best_weights=True)
    for saver in (best, stop):
        others = [Rising(), every, saver]
        model, pruning = small_model(), Pruning(0.9)
        with pytest.warns(Notice) as warned:
            fit(model, *([*others, pruning] if first else [pruning, *others]), epochs=4)
        [said] = [str(warning.message) for warning in warned if "sparsity" in str(warning.message)]
        if saver is best:
            share = shares(tmp_path / "best.weights.h5", model)
            assert f"best.weights.h5 has {share:.2f}, not 0.90: it was saved before" in said
        else:
            assert f"reached {zeros_of(*find_kernels(model).values()):.2f} of 0.90: no opt" in said
        assert shares(tmp_path / "2.keras") < 0.89 < shares(tmp_path / "4.keras")
        assert not {"save", "save_weights", "make_train_function"} & set(vars(model))


@pytest.mark.slow
def test_averaged_weights_have_the_zeros_wherever_they_are_swapped_in(tmp_path):
    """The checkpoint that `SwapEMAWeights` is for, and callbacks in an order that does not matter."""
    files = [tmp_path / "last.keras", tmp_path / "last.weights.h5"]
    savers = [
        keras.callbacks.ModelCheckpoint(file, save_weights_only="weights" in file.name)
        for file in files
    ]
    model = small_model(optimizer=keras.optimizers.SGD(0.1, use_ema=True, ema_momentum=0.9))
    swap = keras.callbacks.SwapEMAWeights(swap_on_epoch=True)
    fit(model, swap, *savers, Pruning(0.75), validation_data=(X, Y))  # warnings are errors
    assert shares(files[0]) == 0.75
    assert shares(files[1], model) == 0.75


@pytest.mark.slow
def test_epochs_after_the_last_mask_may_be_kept():
    stopping = keras.callbacks.EarlyStopping(
        "loss", patience=9, restore_best_weights=True, start_from_epoch=3
    )
    fit(small_model(), Pruning(0.5), stopping, epochs=6)  # warnings are errors


def text_model():
    keras.utils.set_random_seed(0)
    inputs = keras.Input((5,), dtype="int32")
    x = keras.layers.Embedding(20, 6, name="table")(inputs)
    x = keras.layers.SeparableConv1D(4, 3, name="separable")(x)
    x = keras.layers.DepthwiseConv1D(3, name="depthwise")(x)
    return keras.Model(inputs, keras.layers.Dense(2, name="logits")(keras.layers.Flatten()(x)))


def test_tables_of_embeddings_and_depthwise_kernels_as_asked_and_as_tfmot_has_them():
    model = text_model()
    names = list(select_kernels(model, None))
    assert not any("embeddings" in name for name in names)
    assert len(names) == 4
    assert set(prune(model, 0.5, embeddings=True)) - set(find_kernels(model)) == {
        "table/embeddings"
    }
    assert (model.get_layer("table").embeddings.numpy() == 0).mean() == 0.5
    assert (
        sparsity(model, embeddings=True).set_index("kernel")["sparsity"]["table/embeddings"] == 0.5
    )
    like_tfmot = {path.rpartition("/")[2] for path in prune(model, 0.6, tfmot=TFMOT())}
    assert like_tfmot == {"embeddings", "pointwise_kernel", "kernel"}
    assert len(prune(model, 0.6, tfmot=TFMOT())) == 3  # not the kernel of the depthwise layer
    assert list(prune(model, 0.6, tfmot=TFMOT(), layers="depthwise")) == ["depthwise/kernel"]


def test_tfmot_prunes_the_kernels_that_are_chosen_for_it(tfmot):
    """Asks TF-MOT's own registry, class by class."""
    from tensorflow_model_optimization.python.core.sparsity.keras import prune_registry

    theirs = {
        kind.__name__: names
        for kind, names in prune_registry.PruneRegistry._LAYERS_WEIGHTS_MAP.items()
    }
    assert theirs["Embedding"] == ["embeddings"]
    assert theirs["DepthwiseConv2D"] == []
    assert theirs["SeparableConv2D"] == ["pointwise_kernel"]


def test_frozen_kernels_can_be_left_alone():
    model = small_model()
    model.get_layer("hidden").trainable = False
    assert list(prune(model, 0.5, trainable_only=True)) == ["logits/kernel"]
    assert_refused(
        "trainable_only: got 1, expected True or False", prune, model, 0.5, trainable_only=1
    )


@pytest.mark.slow
def test_masks_survive_saving_and_loading(tmp_path):
    """A Sequential model loses the first part of its paths: `sequential/conv/kernel` becomes `conv/kernel`."""
    keras.utils.set_random_seed(0)
    layers = [keras.layers.Dense(16, name="hidden"), keras.layers.Dense(4, name="logits")]
    model = stack((6,), *layers, name="net")
    masks = prune(model, 0.5)
    model.save(tmp_path / "pruned.keras")
    loaded = compiled(keras.models.load_model(tmp_path / "pruned.keras"))
    assert list(find_kernels(loaded)) != list(masks)
    copies = [{f"other/{name.partition('/')[2]}": mask for name, mask in masks.items()}, masks]
    copies.append({name.partition("/")[2]: mask for name, mask in masks.items()})
    for callback in (*map(HoldMasks, copies), HoldMasks.from_zeros(loaded)):
        fit(loaded, callback, epochs=1)
        assert_zero_outside(loaded, masks)
    twice = {
        "net/logits/kernel": masks["net/logits/kernel"],
        "x/logits/kernel": masks["net/logits/kernel"],
    }
    compiled(model)
    assert_refused("'x/logits/kernel' and another mask", fit, model, HoldMasks(twice))
    assert_refused(
        "masks: got 'kernel', expected kernels of 'net'",
        fit,
        model,
        HoldMasks({"kernel": masks["net/hidden/kernel"]}),
    )


def test_models_and_classes_in_the_place_of_masks_and_callbacks():
    model = small_model()
    assert_refused(
        r"masks: got Functional, expected .* HoldMasks.from_zeros\(model\)", HoldMasks, model
    )
    assert_refused(
        r"model: got 'functional.*', expected a pruned model", HoldMasks.from_zeros, model
    )
    for callback in (Pruning, HoldMasks):
        assert_refused(
            r"callbacks: got the class of a callback, expected an instance", fit, model, callback
        )


@pytest.mark.slow
def test_a_fit_of_keras_2_is_refused_in_one_line(tfmot):
    import tf_keras

    model = tf_keras.Sequential([tf_keras.layers.InputLayer((6,)), tf_keras.layers.Dense(4)])
    model.compile("sgd", "mse")
    assert_refused(
        r"model: got a tf_keras \(Keras 2\) model",
        model.fit,
        X,
        np.eye(4)[Y],
        verbose=0,
        callbacks=[Pruning(0.5)],
    )
