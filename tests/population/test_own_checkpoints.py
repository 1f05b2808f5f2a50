"""Checkpoints of training functions: a fit that was interrupted anywhere ends with the bits of one that was not."""

import dataclasses

import keras
import numpy as np
import pytest

from tests.builders.interruptions import (
    MAKE_MEMBER,
    CutAfter,
    PowerCutError,
    assert_kills_change_nothing,
)
from tests.builders.nightly import first_and_nightly
from tests.builders.own_code import write_own
from tests.builders.small_nets import assert_same_weights
from tfaudit import Pruned, Study, load_dataset
from tfaudit.errors import Notice
from tfaudit.population.checkpoints import CheckpointFile
from tfaudit.population.member import gradual_trainer, prune_and_retrain, trainer_of
from tfaudit.store.store import Store

pytestmark = pytest.mark.slow

FITS = """
import tensorflow as tf

LOSS = keras.losses.SparseCategoricalCrossentropy(from_logits=True)


def noisy(input_shape, num_classes):
    layers = [keras.layers.Dense(8, "relu"), keras.layers.Dropout(0.3), keras.layers.Dense(num_classes)]
    return keras.Sequential([keras.Input(input_shape), *layers])


def validated(model, train, *, seed, callbacks, epochs=6, batch_size=30):
    model.compile(keras.optimizers.Adam(0.05), LOSS, metrics=["accuracy"])
    best = keras.callbacks.EarlyStopping("val_loss", patience=epochs, restore_best_weights=True)
    slower = keras.callbacks.ReduceLROnPlateau("val_loss", patience=1, min_lr=1e-3)
    warmer = keras.callbacks.LearningRateScheduler(lambda epoch, rate: rate if epoch else 0.08)
    return model.fit(
        train.x, train.y, epochs=epochs, batch_size=batch_size, validation_split=0.25, verbose=0,
        callbacks=[best, *callbacks, slower, warmer],
    )


def lengthy(model, train, *, seed, callbacks):
    return validated(model, train, seed=seed, callbacks=callbacks, epochs=10, batch_size=10)


def any_examples(x, y):
    return tf.size(y) > 0


def streamed(model, train, *, seed, callbacks):
    model.compile(keras.optimizers.SGD(0.05, 0.9), LOSS)
    noise = keras.layers.GaussianNoise(0.1)
    data = tf.data.Dataset.from_tensor_slices((train.x, train.y)).shuffle(50).batch(30)
    data = data.map(lambda x, y: (noise(x, training=True), y))
    data = data.filter(any_examples)  # of unknown length
    return model.fit(data, epochs=5, verbose=0, shuffle=False, callbacks=callbacks)


def generated(model, train, *, seed, callbacks, epochs=6):
    def batches():
        while True:
            some = np.random.randint(0, len(train.y), 20)
            yield train.x[some] * np.random.normal(1, 0.1), train.y[some]

    model.compile(keras.optimizers.Adam(0.05, use_ema=True), LOSS, steps_per_execution=2)
    return model.fit(
        batches(), steps_per_epoch=6, epochs=epochs, shuffle=False, verbose=0, callbacks=callbacks
    )


def lengthy_batches(model, train, *, seed, callbacks):
    return generated(model, train, seed=seed, callbacks=callbacks, epochs=30)


def fresh(model, train, *, seed, callbacks):
    order = np.random.default_rng().permutation(len(train.y))
    model.compile(keras.optimizers.Adam(0.05), LOSS)
    return model.fit(train.x[order], train.y[order], shuffle=False, verbose=0, callbacks=callbacks)


def logged(model, train, *, seed, callbacks):
    model.compile("sgd", LOSS)
    log = keras.callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: None)
    return model.fit(train.x, train.y, verbose=0, callbacks=[log, *callbacks])


def twice(model, train, *, seed, callbacks):
    model.compile("sgd", LOSS)
    model.fit(train.x, train.y, batch_size=60, verbose=0, callbacks=callbacks)
    return model.fit(train.x, train.y, batch_size=60, verbose=0, callbacks=callbacks)
"""


def study_of(folder, name):
    path = write_own(folder, more=FITS)
    parts = {part: f"{path}:{function}" for part, function in PARTS.items()}
    return Study(name="s", training=f"{path}:{name}", **parts)


PARTS = {"dataset": "load", "model": "noisy"}
VARIANTS = {
    "dense": None,
    "gradual": Pruned(0.75),
    "finetuned": Pruned(0.6, treatment="finetune"),
}


class OneMember:
    """A member trained by a function of a study's own, as in a new process at every attempt."""

    def __init__(self, folder, name, variant):
        self._study, self._variant = study_of(folder, name), VARIANTS[variant]
        self._data = load_dataset(self._study.dataset, "train")

    def train(self, checkpoint=None, extra=()):
        variant = self._variant
        if variant is not None and variant.parent is None:
            one = gradual_trainer(self._study, variant, self._data)
        else:
            one = trainer_of(self._study, self._study.training, self._data)
        one.checkpoint_every = 0
        model = one.build(5)
        if variant is not None and variant.parent:
            history = prune_and_retrain(
                variant,
                one,
                model,
                seed=5,
                early=lambda: one.build(5),
                checkpoint=checkpoint,
                remedies=extra,
            )
        else:
            one.callbacks += extra
            history = one.train(model, 5, checkpoint=checkpoint)
        return model, history


CASES = [
    ("validated", "finetuned"),
    ("streamed", "dense"),
    ("generated", "gradual"),
    ("validated", "dense"),
    ("streamed", "finetuned"),
    ("generated", "finetuned"),
]


@pytest.mark.filterwarnings("ignore:Your input ran out of data")  # of Keras: the length is unknown
@pytest.mark.parametrize(("name", "variant"), first_and_nightly(CASES, 3))
def test_interrupted_anywhere_a_fit_ends_with_the_same_bits(tmp_path, name, variant):
    member = OneMember(tmp_path, name, variant)
    model, history = member.train()
    file = CheckpointFile(tmp_path / "checkpoint", "this")
    cuts = np.random.default_rng().integers(1, 9, 2).tolist()  # fresh ones, of at least 18 batches
    for batches in cuts:
        with pytest.raises(PowerCutError):
            member.train(file, [CutAfter(batches)])
    again, same = member.train(file)
    assert_same_weights(model, again)
    assert history.equals(same), cuts


def test_steps_that_were_made_are_passed_over(tmp_path):
    member = OneMember(tmp_path, "validated", "dense")
    reported = []
    file = CheckpointFile(
        tmp_path / "checkpoint", "this", lambda step, saved: reported.append((step, saved))
    )
    made = []
    counter = keras.callbacks.LambdaCallback(
        on_train_batch_end=lambda batch, logs: made.append(batch) if logs else None
    )
    with pytest.raises(PowerCutError):
        member.train(file, [CutAfter(9)])
    # The cut came before the checkpoint after its step, and a checkpoint waits for the step that follows it.
    assert file.load().step == 7
    member.train(file, [counter])
    assert len(made) == 1 + 18 - 7  # Keras builds metrics in the first one
    assert [step for step, saved in reported if not saved] == [7]


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("logged", "whose callback LambdaCallback has no training_state and restore_training"),
        ("twice", "outside of the first fit of its model"),
    ],
)
def test_a_training_that_cannot_go_on_says_so_once(tmp_path, name, reason):
    file = CheckpointFile(tmp_path / "checkpoint", "this")
    with pytest.warns(Notice, match="checkpoint: none of ") as said:
        OneMember(tmp_path, name, "dense").train(file)
    assert [str(one.message) for one in said] == [
        f"checkpoint: none of 'own.py:{name}', {reason}; after an interruption it begins again"
    ]
    assert file.path.exists() == (name == "twice")


def test_a_fit_of_other_batches_begins_again(tmp_path):
    member = OneMember(tmp_path, "fresh", "dense")
    file = CheckpointFile(tmp_path / "checkpoint", "this")
    with pytest.raises(PowerCutError):
        member.train(file, [CutAfter(3)])
    assert file.path.exists()
    with pytest.warns(Notice, match="own.py:fresh' makes other steps now.; training begins again"):
        _, history = member.train(file)
    assert len(history) == 1


EVERY_STEP = """
from tfaudit.population.own_training import OwnTraining
OwnTraining.checkpoint_every = 0.0
"""


@pytest.mark.parametrize(
    ("name", "variant"),
    first_and_nightly([("lengthy", "finetuned"), ("lengthy_batches", "gradual")]),
)
def test_kill_9_at_any_moment_changes_no_bit(tmp_path, warm_python, name, variant):
    variant = VARIANTS[variant]
    study = dataclasses.replace(study_of(tmp_path, name), variants=[variant], population=1)
    stores = [Store.create(tmp_path / name, study, {}) for name in ("killed", "whole")]
    assert_kills_change_nothing(
        *stores, variant.key, [*warm_python, "-c", EVERY_STEP + MAKE_MEMBER]
    )
