"""Options of `tfaudit run` that change the study."""

import dataclasses

import pytest

from tests.builders.refusals import assert_refused
from tests.builders.small_stores import small_study
from tfaudit import Pruned, Training
from tfaudit.cli.run import TrainingOptions

STUDY = small_study(
    training=Training(epochs=3, batch_size=64),
    retraining=Training(epochs=1, batch_size=32),
    variants=(Pruned(0.5, treatment="finetune"),),
)


def test_the_trainings_are_replaced_and_the_study_is_another():
    options = TrainingOptions(
        batch_size=16, micro_batch="8", precision="mixed_bfloat16", strategy="mirrored", steps=7
    )
    changed = options.applied_to(STUDY)
    shared = {
        "batch_size": 16,
        "micro_batch": 8,
        "precision": "mixed_bfloat16",
        "strategy": "mirrored",
    }
    assert changed.training == Training(steps=7, **shared)
    assert changed.retraining == Training(epochs=1, **shared)
    assert STUDY.difference(changed).startswith("its training is")
    assert TrainingOptions().applied_to(STUDY) == STUDY
    assert TrainingOptions(micro_batch="auto").applied_to(STUDY).training.micro_batch == "auto"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"micro_batch": "5"}, "micro_batch: got 5, expected a divisor of the batch size 64"),
        ({"micro_batch": "half"}, "micro_batch: got 'half', expected a divisor"),
        ({"precision": "int4"}, "precision: got 'int4', expected 'float32', "),
        ({"strategy": "many"}, "strategy: got 'many', expected None or 'mirrored'"),
        ({"steps": 0}, "steps: got 0, expected 1 or more"),
    ],
)
def test_settings_that_no_training_takes(options, message):
    assert_refused(message, TrainingOptions(**options).applied_to, STUDY)


@pytest.mark.parametrize("name", ["training", "retraining"])
def test_a_function_has_settings_of_its_own(name):
    study = dataclasses.replace(STUDY, **{name: "package.fits:fit"})
    expected = f"batch_size: got 8, expected no such option, since the {name} is 'package.fits:fit'"
    assert_refused(expected, TrainingOptions(batch_size=8).applied_to, study)


def test_steps_leave_the_retraining_alone():
    study = dataclasses.replace(STUDY, retraining="package.fits:fit")
    assert TrainingOptions(steps=8).applied_to(study).training.steps == 8
