"""Sparsity that is not what was asked is said: LoRA, quantized kernels, other optimizers, early ends, best epochs."""

import warnings

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests.builders.nightly import first_and_nightly
from tests.builders.small_nets import STEPS, X, Y, assert_zero_outside, compiled, fit, small_model
from tfaudit.compress.pruning import schedules
from tfaudit.compress.pruning.hold_masks import HoldMasks
from tfaudit.compress.pruning.kernels import find_kernels, select_kernels
from tfaudit.compress.pruning.one_shot import prune
from tfaudit.compress.pruning.pruning import Pruning
from tfaudit.compress.pruning.sparsity import sparsity
from tfaudit.compress.pruning.tfmot_masks import TFMOT
from tfaudit.errors import InputError


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


@pytest.mark.slow
def test_saving_and_loading_merges_lora_so_that_pruning_works(tmp_path):
    model = with_lora()
    fit(model)
    model.save(tmp_path / "lora.keras")
    loaded = keras.models.load_model(tmp_path / "lora.keras", compile=False)
    prune(loaded, 0.75)  # warnings are errors
    assert zeros_of(loaded.get_layer("hidden").kernel) == 0.75


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
    schedule = schedules.polynomial(0.0, 0.5, begin=1, end=61, frequency=5)
    with pytest.warns(UserWarning, match=r"of 0.50: the fit ended after step 12 of"):
        fit(small_model(), Pruning(schedule), Stop(), epochs=6)
    fit(small_model(), Pruning(schedule), epochs=1)  # a schedule of several fits is not late


@pytest.mark.slow
@pytest.mark.parametrize("first", first_and_nightly([True, False]))
def test_a_best_epoch_before_the_last_mask_is_named(tmp_path, first):
    class Rising(keras.callbacks.Callback):
        """The second epoch seems the best."""

        def on_epoch_end(self, epoch, logs=None):
            logs["score"] = -abs(epoch - 1)

    def best(callback, message):
        pruning = Pruning(0.9, best_epochs=[callback])
        callbacks = [Rising(), callback, pruning] if first else [pruning, Rising(), callback]
        with pytest.warns(UserWarning, match=message) as warned:
            fit(small_model(), *callbacks, epochs=4)
        return [str(warning.message) for warning in warned if "sparsity" in str(warning.message)]

    checkpoint = keras.callbacks.ModelCheckpoint(
        tmp_path / "best.keras", monitor="score", mode="max", save_best_only=True
    )
    [message] = best(checkpoint, "sparsity: ModelCheckpoint saved an epoch of 0.8")
    saved = keras.models.load_model(tmp_path / "best.keras")
    said = float(message.split("epoch of ")[1][:5])
    assert zeros_of(*(kernel.numpy() for kernel in find_kernels(saved).values())) == pytest.approx(
        said, abs=0.02
    )
    restored = keras.callbacks.EarlyStopping(
        "score", mode="max", patience=9, restore_best_weights=True
    )
    best(restored, "sparsity: EarlyStopping restores an epoch of 0.8")


@pytest.mark.slow
def test_epochs_after_the_last_mask_may_be_kept(tmp_path):
    stopping = keras.callbacks.EarlyStopping(
        "loss", patience=9, restore_best_weights=True, start_from_epoch=3
    )
    pruning = Pruning(0.5, best_epochs=[stopping])
    fit(small_model(), pruning, stopping, epochs=6)  # warnings are errors


def test_a_callback_that_keeps_no_best_epoch_is_refused():
    with pytest.raises(InputError, match=r"best_epochs: got .*, expected ModelCheckpoint"):
        Pruning(0.5, best_epochs=[keras.callbacks.EarlyStopping("loss")])


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


def test_tfmot_prunes_the_kernels_that_are_chosen_for_it():
    """Asks TF-MOT's own registry, class by class."""
    schedules.polynomial(
        **{"initial": 0.0, "final": 0.5, "begin": 1, "end": 2, "frequency": 1}
    )  # loads TF-MOT
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
    with pytest.raises(InputError, match="trainable_only: got 1, expected True or False"):
        prune(model, 0.5, trainable_only=1)


@pytest.mark.slow
def test_masks_survive_saving_and_loading(tmp_path):
    """A Sequential model loses the first part of its paths: `sequential/conv/kernel` becomes `conv/kernel`."""
    keras.utils.set_random_seed(0)
    layers = [keras.layers.Dense(16, name="hidden"), keras.layers.Dense(4, name="logits")]
    model = keras.Sequential([keras.Input((6,)), *layers], name="net")
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
    with pytest.raises(InputError, match="'x/logits/kernel' and another mask"):
        fit(model, HoldMasks(twice))
    with pytest.raises(InputError, match="masks: got 'kernel', expected kernels of 'net'"):
        fit(model, HoldMasks({"kernel": masks["net/hidden/kernel"]}))


def test_models_and_classes_in_the_place_of_masks_and_callbacks():
    model = small_model()
    with pytest.raises(
        InputError, match=r"masks: got Functional, expected .* HoldMasks.from_zeros\(model\)"
    ):
        HoldMasks(model)
    with pytest.raises(InputError, match=r"model: got 'functional.*', expected a pruned model"):
        HoldMasks.from_zeros(model)
    for callback in (Pruning, HoldMasks):
        with pytest.raises(
            InputError, match=r"callbacks: got the class of a callback, expected an instance"
        ):
            fit(model, callback)


@pytest.mark.slow
def test_a_fit_of_keras_2_is_refused_in_one_line():
    schedules.polynomial(0.0, 0.5, 1, 2, 1)
    import tf_keras

    model = tf_keras.Sequential([tf_keras.layers.InputLayer((6,)), tf_keras.layers.Dense(4)])
    model.compile("sgd", "mse")
    with pytest.raises(InputError, match=r"model: got a tf_keras \(Keras 2\) model"):
        model.fit(X, np.eye(4)[Y], verbose=0, callbacks=[Pruning(0.5)])
