"""Training with the user's own model, data, function and optimizer, in one process."""

import dataclasses

import keras
import pytest
from numpy.testing import assert_allclose

from tests.builders.own_code import write_own
from tests.builders.refusals import assert_refused
from tests.builders.small_nets import assert_same_weights
from tfaudit import Pruned, Study, Training, load_dataset
from tfaudit.compress.pruning.kernels import find_kernels
from tfaudit.population.member import gradual_trainer, prune_and_retrain, trainer_of
from tfaudit.population.own_training import OwnTraining, fit_function
from tfaudit.population.run import run
from tfaudit.population.training import Trainer

pytestmark = pytest.mark.slow


def study_of(folder, training="fit", model="build", code="", **settings):
    path = write_own(folder, more=code)
    training = f"{path}:{training}" if isinstance(training, str) else training
    return Study(
        name="s", dataset=f"{path}:load", model=f"{path}:{model}", training=training, **settings
    )


def data_of(study):
    return load_dataset(study.dataset, "train")


def zeros(model):
    kernels = [kernel.numpy() for kernel in find_kernels(model).values()]
    return sum((kernel == 0).sum() for kernel in kernels) / sum(kernel.size for kernel in kernels)


def retrained(study, variant):
    """A member that is pruned and retrained by the study's function, from new weights."""
    one = trainer_of(study, study.training, data_of(study))
    model = one.build(0)
    prune_and_retrain(variant, one, model, seed=0, early=lambda: one.build(0))
    return model


def trained(study, variant):
    """A member that the study's function prunes while it trains it."""
    one = gradual_trainer(study, variant, data_of(study))
    model = one.build(0)
    one.train(model, 0)
    return model


def test_a_function_trains_and_a_member_depends_on_its_seed_alone(tmp_path):
    study = study_of(tmp_path)
    used, fresh = (OwnTraining(study, study.training, data_of(study)) for _ in range(2))
    used.train(used.build(1), 1)
    models = []
    for one in (used, fresh):
        models.append(one.build(2))
        history = one.train(models[-1], 2)
        assert history["epoch"].tolist() == [1, 2, 3, 4]
        assert history["accuracy"].iloc[-1] > history["accuracy"].iloc[0]
    assert_same_weights(*models)


def test_a_function_prunes_with_the_callbacks_that_it_is_handed(tmp_path):
    study, variant = study_of(tmp_path), Pruned(0.75)
    one = gradual_trainer(study, variant, data_of(study))
    model = one.build(3)
    history = one.train(model, 3)
    assert zeros(model) == pytest.approx(0.75, abs=0.02)
    assert history["sparsity"].iloc[-1] == pytest.approx(zeros(model))
    treated = dataclasses.replace(variant, treatment="rewind")
    assert zeros(retrained(study, treated)) == pytest.approx(0.75, abs=0.02)


@pytest.mark.parametrize(
    ("training", "code", "message"),
    [
        (
            "deaf",
            "",
            "training: got 'own.py:deaf', which does not use its callbacks, expected model.fit",
        ),
        (
            "late",
            "def late(model, train, *, seed, callbacks):\n    fit(model, train, seed=seed, callbacks=callbacks[-1:])\n"
            "    return {'loss': [1.0]}",
            "after which 0% of the weights to prune are 0, expected 75%: all callbacks in one fit",
        ),
    ],
)
def test_a_function_that_prunes_nothing_fails(tmp_path, training, code, message):
    study = study_of(tmp_path, training, code=code)
    assert_refused(message, trained, study, Pruned(0.75))


HOLDING = Pruned(0.75, treatment="finetune")
LOOP = """
import pandas as pd
import tensorflow as tf

LOSS = keras.losses.SparseCategoricalCrossentropy(from_logits=True)


def loop(model, train, *, seed, callbacks, update=None):
    model.compile(keras.optimizers.Adam(0.02), LOSS)
    told = keras.callbacks.CallbackList(callbacks, model=model, epochs=4, steps=6)

    @tf.function
    def step(x, y):
        with tf.GradientTape() as tape:
            loss = LOSS(y, model(x, training=True))
        gradients = tape.gradient(loss, model.trainable_variables)
        (update or model.optimizer.apply)(gradients, model.trainable_variables)
        return loss

    rows = []
    told.on_train_begin()
    for epoch in range(4):
        told.on_epoch_begin(epoch)
        for i in range(6):
            loss = step(train.x[20 * i : 20 * i + 20], train.y[20 * i : 20 * i + 20])
            told.on_train_batch_end(i)
            if model.stop_training:
                break
        rows.append({"loss": float(loss)})
        told.on_epoch_end(epoch, rows[-1])
        if model.stop_training:
            break
    told.on_train_end()
    return pd.DataFrame(rows)


def assigned(model, train, *, seed, callbacks):
    def update(gradients, variables):
        for variable, gradient in zip(variables, gradients):
            variable.assign_sub(0.1 * gradient)

    return loop(model, train, seed=seed, callbacks=callbacks, update=update)


STEPS = []


def stale(model, train, *, seed, callbacks):
    optimizer = STEPS[0] if STEPS else keras.optimizers.Adam(0.02)
    STEPS.append(optimizer)
    return loop(model, train, seed=seed, callbacks=callbacks, update=optimizer.apply)


def uncompiled(model, train, *, seed, callbacks):
    told = keras.callbacks.CallbackList(callbacks, model=model, epochs=1, steps=1)
    told.on_train_begin()
    told.on_epoch_begin(0)


def unplanned(model, train, *, seed, callbacks):
    model.compile("sgd", LOSS)
    told = keras.callbacks.CallbackList(callbacks, model=model)
    told.on_train_begin()
    told.on_epoch_begin(0)


def untold(model, train, *, seed, callbacks):
    for callback in callbacks:
        callback.on_epoch_end(0)
    return {"loss": [0.0]}
"""


def test_a_loop_with_a_gradient_tape_holds_masks_and_stops_where_it_is_told(tmp_path):
    study = study_of(tmp_path, "loop", code=LOOP)
    one = gradual_trainer(study, Pruned(0.75), data_of(study))
    for seed in (1, 2):  # the second in the model, and with the callback, of the first
        model = one.build(seed)
        history = one.train(model, seed)
        assert zeros(model) == pytest.approx(0.75, abs=0.02)
        assert history["loss"].iloc[-1] < history["loss"].iloc[0]
    assert zeros(retrained(study, HOLDING)) == pytest.approx(0.75, abs=0.02)
    dense = trainer_of(study, study.training, data_of(study))
    assert len(dense.train(dense.build(0), 0, until=9)) == 2
    assert int(dense.model.optimizer.iterations) == 9


@pytest.mark.filterwarnings("ignore:sparsity")
@pytest.mark.parametrize(
    ("training", "variant", "message"),
    [
        (
            "assigned",
            HOLDING,
            r"in which \d\d% of the weights are not 0 although they are pruned, expected updates by",
        ),
        (
            "stale",
            Pruned(0.75),
            "whose optimizer made no step, expected gradients applied by model.optimizer",
        ),
        (
            "uncompiled",
            HOLDING,
            r"got 'own.py:uncompiled', where model is a model without an optimizer, expected",
        ),
        (
            "unplanned",
            Pruned(0.75),
            r"where schedule is 0.75 for data of unknown length.*CallbackList\(callbacks, mo",
        ),
    ],
)
def test_a_loop_that_does_not_hold_masks_fails_and_says_so(tmp_path, training, variant, message):
    study = study_of(tmp_path, training, code=LOOP)
    make = retrained if variant is HOLDING else trained
    assert_refused(message, make, study, variant)


@pytest.mark.parametrize(
    ("training", "code", "until", "message"),
    [
        ("untold", LOOP, 9, r"did 0 steps and was to stop after 9, expected model.fit, or a loop"),
        (
            "mute",
            "def mute(*arguments, **named):\n    fit(*arguments, **named)",
            None,
            r"got a NoneType from 'own.py:mute', expected the History of model.fit",
        ),
    ],
)
def test_a_function_that_does_not_stop_or_returns_no_history_fails(
    tmp_path, training, code, until, message
):
    study = study_of(tmp_path, training, code=code)
    one = trainer_of(study, study.training, data_of(study))
    assert_refused(message, one.train, one.build(0), 0, until=until)


def test_wrong_parameters_and_settings_are_refused_before_training(tmp_path):
    path = write_own(tmp_path, more="def short(model, train):\n    pass")
    assert_refused(
        r"training: got short\(model, train\) of .*, expected a function that can be",
        fit_function,
        f"{path}:short",
    )
    study = study_of(tmp_path, variants=[Pruned(0.5, end=0.5)])
    assert_refused(
        r"variants: got end of 'magnitude-0.5-end=0.5' with a training function",
        gradual_trainer,
        study,
        study.variants[0],
        data_of(study),
    )


def test_a_compiled_model_keeps_its_optimizer_loss_and_metrics(tmp_path):
    code = """
def load(split):
    x = np.random.default_rng(0).normal(size=(60, 5)).astype("float32")
    return x, np.eye(3)[(x[:, 0] > 0) + (x[:, 1] > 0) * 1]
"""
    study = study_of(tmp_path, Training(epochs=3, batch_size=20), "compiled", code)
    one = Trainer(study, study.training, data_of(study))
    assert isinstance(one.model.optimizer, keras.optimizers.Lion)
    assert one.model.loss == "categorical_crossentropy"
    model = one.build(1)
    assert not model.compiled
    first = one.train(model, 1)
    one.train(one.build(2), 2)
    assert first.equals(one.train(one.build(1), 1)), "the optimizer's state goes back to the start"
    assert_refused(
        r"training: got optimizer, learning_rate for a model that '.*compiled' compiled",
        Trainer,
        study,
        Training(epochs=1, optimizer="adam", learning_rate=0.1),
        data_of(study),
    )


def test_one_logit_for_two_classes_and_probabilities_get_the_loss_that_fits(tmp_path):
    code = """
def load(split):
    x = np.random.default_rng(0).normal(size=(64, 5)).astype("float32")
    return x, x[:, 0] > 0


def logit():
    return keras.Sequential([keras.Input((5,)), keras.layers.Dense(1)])


def sigmoid():
    return keras.Sequential([keras.Input((5,)), keras.layers.Dense(1, "sigmoid")])
"""
    losses = []
    for name in ("logit", "sigmoid"):
        study = study_of(tmp_path, Training(epochs=8, batch_size=16, learning_rate=0.1), name, code)
        one = Trainer(study, study.training, data_of(study))
        history = one.train(one.build(0), 0)
        assert history["accuracy"].iloc[-1] > 0.85
        losses.append(history["loss"].to_numpy())
    assert_allclose(*losses, rtol=1e-4)


@pytest.mark.parametrize(
    "optimizer", ["adamw", keras.optimizers.Adam(0.02, beta_1=0.8)], ids=["name", "instance"]
)
def test_optimizers_by_name_instance_and_configuration(tmp_path, optimizer):
    rate = {"learning_rate": 0.02} if isinstance(optimizer, str) else {}
    training = Training(epochs=2, batch_size=40, optimizer=optimizer, **rate)
    study = study_of(tmp_path, training)
    assert Study.from_json(study.to_json()) == study
    one = Trainer(study, training, data_of(study))
    history = one.train(one.build(0), 0)
    assert history["loss"].iloc[-1] < history["loss"].iloc[0]
    if not isinstance(optimizer, str):
        assert one.model.optimizer.beta_1 == 0.8


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"steps_per_execution": 4},
            "steps_per_execution: got 4, expected a divisor of 6, the steps of an epoch",
        ),
        ({"augmentation": "flip"}, "no images"),
    ],
)
def test_settings_that_cannot_be_used(tmp_path, settings, message):
    training = Training(epochs=1, batch_size=20, **settings)
    study = study_of(tmp_path, training)

    def train():
        one = Trainer(study, training, data_of(study))
        one.train(one.build(0), 0)

    assert_refused(message, train)


@pytest.mark.parametrize("name", ["training", "retraining"])
def test_an_unknown_optimizer_is_refused_before_anything_is_written(tmp_path, name):
    training = {"training": Training(epochs=1), name: Training(epochs=1, optimizer="adamm")}
    assert_refused(
        "optimizer: got 'adamm', expected a name that Keras knows",
        run,
        Study(name="s", dataset="digits", model="digits_convnet", **training),
        tmp_path / "s",
    )
    assert not (tmp_path / "s").exists()
