"""Checkpoints: a training that was interrupted anywhere ends with the bits of one that was not."""

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
from tests.builders.nightly import and_nightly, first_and_nightly
from tests.builders.refusals import assert_refused
from tests.builders.small_nets import assert_same_weights
from tests.builders.small_stores import small_study
from tfaudit import Pruned, Quantized, Study, Training, load_dataset
from tfaudit.errors import Notice
from tfaudit.population.checkpoints import CheckpointFile
from tfaudit.population.member import gradual_trainer
from tfaudit.population.training import Trainer
from tfaudit.store.store import Store
from tfaudit.study.variants import Dense

DATA = load_dataset("digits", "train").take(150)
STUDY = small_study(
    training=Training(
        epochs=4, batch_size=40, validation=0.2, keep="best", checkpoint_every=0, decay="cosine"
    ),
    variants=(Pruned(0.7, frequency=2),),
    model_options={"filters": [4], "units": 8},
)  # 120 examples, 12 steps


def new_trainer(variant, **settings):
    training = dataclasses.replace(STUDY.training, **settings)
    study = dataclasses.replace(STUDY, training=training)
    if isinstance(variant, Pruned):
        return gradual_trainer(study, variant, DATA)
    return Trainer(study, training, DATA)


def interrupted(one, checkpoint, cuts, seed=3):
    """Train a member whose attempts end after these numbers of batches; the last one ends by itself."""
    for batches in cuts:
        cut = CutAfter(batches)
        one.callbacks.append(cut)
        with pytest.raises(PowerCutError):
            one.train(one.build(seed), seed, checkpoint=checkpoint)
        one.callbacks.remove(cut)
    model = one.build(seed)
    return model, one.train(model, seed, checkpoint=checkpoint)


def uninterrupted(one, seed=3):
    model = one.build(seed)
    return model, one.train(model, seed)


SETTINGS = {
    "sgd": {},
    "adam with averages": {
        "optimizer": keras.optimizers.Adam(0.01, use_ema=True, ema_overwrite_frequency=2)
    },
    "augmented": {"augmentation": "crop_flip"},
    "micro-batches": {"micro_batch": 20},
    "several steps at once": {"steps_per_execution": 3, "epochs": 6},
    "steps": {"epochs": None, "steps": 11, "keep": "last"},
}


@pytest.mark.slow
@pytest.mark.parametrize(
    "variant", first_and_nightly([Pruned(0.7, frequency=2), Dense()]), ids=lambda v: v.key
)
@pytest.mark.parametrize("name", first_and_nightly(SETTINGS))
def test_interrupted_anywhere_a_training_ends_with_the_same_bits(tmp_path, name, variant):
    settings = dict(SETTINGS[name])
    if name == "adam with averages":
        settings |= {"decay": "constant"}
    one = new_trainer(variant, **settings)
    model, history = uninterrupted(one)
    cuts = np.random.default_rng().integers(1, 4, 3).tolist()  # fresh ones in every run
    again, same = interrupted(one, CheckpointFile(tmp_path / "checkpoint", "this"), cuts)
    assert_same_weights(model, again)
    assert history.equals(same), cuts


@pytest.mark.slow
def test_steps_that_were_made_are_not_made_again(tmp_path):
    one = new_trainer(Dense())
    reported = []
    file = CheckpointFile(
        tmp_path / "checkpoint", "this", lambda step, saved: reported.append((step, saved))
    )
    made = []
    counter = keras.callbacks.LambdaCallback(
        on_train_batch_end=lambda batch, logs: made.append(batch) if logs else None
    )
    one.callbacks.append(counter)
    interrupted(one, file, [6])
    # The cut came before the checkpoint after its step, and the last step in the checkpoint builds the metrics.
    assert len(made) == 12 + 1 + 1
    assert reported[5:7] == [(5, True), (5, False)]  # where the second attempt goes on
    assert sum(not saved for _, saved in reported) == 1


FORKS = {
    "epochs": (
        {},
        {
            4: Pruned(0.7, begin=0.45, frequency=2),  # within an epoch
            6: Pruned(0.7, begin=0.58, frequency=1),  # at the end of one
        },
    ),
    "early": (
        {},
        {
            3: Pruned(0.7, begin=0.3, end=0.5, frequency=1),  # next to the first update
            2: Pruned(0.7, begin=0.25, scope="global"),  # within the first epoch
        },
    ),
    "several steps at once": (
        {"steps_per_execution": 3, "epochs": 6},
        {6: Pruned(0.7, begin=0.5, frequency=2)},
    ),
    "steps": ({"epochs": None, "steps": 11, "keep": "last"}, {5: Pruned(0.7, begin=0.5)}),
}
"""Settings, and variants by the number of steps that they share with the dense member."""


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", and_nightly(["epochs"], ["several steps at once", "early", "steps"])
)
def test_a_forked_member_has_the_bits_of_one_trained_to_the_end_from_the_same_seed(tmp_path, name):
    more, variants = FORKS[name]
    settings = {"optimizer": "adam", "augmentation": "crop_flip"} | more
    dense = new_trainer(Dense(), **settings)
    dense.fork_steps = {*variants}
    file = CheckpointFile(tmp_path / "dense", "this")
    _, dense_history = interrupted(dense, file, [3, 4])
    for shared, variant in variants.items():
        pruned = new_trainer(variant, **settings)
        assert dense.dense_steps(variant) == pruned.dense_steps(variant) == shared
        file.path.write_bytes(dense.forked[shared])
        model, history = uninterrupted(pruned)
        forked = pruned.build(9)  # its initial weights are those of the fork
        made = []
        counter = keras.callbacks.LambdaCallback(
            on_train_batch_end=lambda batch, logs, made=made: made.append(batch) if logs else None
        )
        pruned.callbacks.append(counter)
        again = pruned.train(forked, 3, fork=file.load())
        assert_same_weights(model, forked)
        assert history[again.columns].tail(2).equals(again.tail(2))
        common = dense_history.columns
        assert again[common].head(shared // 3).equals(dense_history.head(shared // 3))
        assert len(made) < 12


RETRAINED = (
    Pruned(0.5, treatment="finetune", remedy="distillation"),
    Pruned(0.6, treatment="rewind", rewind_to=3),
    Pruned(0.7, frequency=2),
    Pruned(0.7, begin=0.3, frequency=2),
    Quantized("int8", remedy="quantization_aware"),
)


def killed_study(tmp_path, name):
    training = Training(epochs=10, batch_size=20, validation=0.2, checkpoint_every=0)
    study = Study(
        name="kills",
        dataset="digits",
        model="digits_convnet",
        training=training,
        variants=RETRAINED,
        fork=True,
        population=1,
        limit=300,
        model_options={"filters": [4], "units": 8},
    )
    return Store.create(tmp_path / name, study, {})


@pytest.mark.slow
@pytest.mark.parametrize("key", first_and_nightly([v.key for v in reversed(RETRAINED)]))
def test_kill_9_at_any_moment_changes_no_bit(tmp_path, warm_python, key):
    store, whole = killed_study(tmp_path, "killed"), killed_study(tmp_path, "whole")
    assert_kills_change_nothing(store, whole, key, [*warm_python, "-c", MAKE_MEMBER])


def test_a_damaged_checkpoint_and_one_of_another_training_are_not_used(tmp_path):
    path = tmp_path / "checkpoint"
    file = CheckpointFile(path, "this")
    assert file.load() is None
    one = new_trainer(Dense(), epochs=1)
    one.callbacks.append(CutAfter(1))
    with pytest.raises(PowerCutError):
        one.train(one.build(0), 0, checkpoint=file)
    content = path.read_bytes()
    path.write_bytes(content[:-100])
    with pytest.warns(Notice, match="does not match its checksum.; training begins again"):
        assert file.load() is None
    path.write_bytes(content)
    with pytest.warns(Notice, match="belongs to another study"):
        assert CheckpointFile(path, "other").load() is None


def test_a_full_disk_does_not_stop_the_training(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tfaudit.population.checkpoints.write_whole", full)
    one = new_trainer(Dense(), epochs=1, keep="last")
    with pytest.warns(Notice, match="cannot be written .No space left on device"):
        _, history = interrupted(one, CheckpointFile(tmp_path / "checkpoint", "this"), [])
    assert len(history) == 1


def test_what_a_checkpoint_depends_on(tmp_path):
    def of(*variants, key="dense", member=0, fork=False, **training):
        plan = dataclasses.replace(STUDY.training, **training)
        study = dataclasses.replace(STUDY, training=plan, variants=variants, fork=fork)
        return CheckpointFile.of_member(tmp_path, study, key, member).identity

    tuned, late = Pruned(0.5, treatment="finetune"), Pruned(0.5, begin=0.5)
    assert of() == of(tuned) == of(late) == of(checkpoint_every=60)
    assert of(tuned, key=tuned.key) == of(late, tuned, key=tuned.key)
    others = [of(late, fork=True), of(late, Pruned(0.5, begin=0.6), fork=True)]
    others += [of(member=1), of(tuned, key=tuned.key), of(batch_size=20)]
    assert len({of(), *others}) == 6


def test_the_interval_of_checkpoints_changes_no_study():
    changed = dataclasses.replace(STUDY.training, checkpoint_every=None)
    assert STUDY.difference(dataclasses.replace(STUDY, training=changed)) is None
    assert_refused("checkpoint_every: got -1", Training, epochs=1, checkpoint_every=-1)
