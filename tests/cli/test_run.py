"""Options of `tfaudit run` that change the study."""

import dataclasses

import pytest

from tests.builders.refusals import assert_refused, refused_lines
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


@refused_lines("""
    run nope
        recipe: got 'nope', expected a recipe of `tfaudit list` (perhaps
    run fashion_lenet
        got 'fashion_lenet', expected a recipe of `tfaudit list` (perhaps
    run nope.py
        recipe: got nope.py, which does not exist, expected a Python file
    run mnist_corrupted/fog
        recipe: got 'mnist_corrupted/fog', expected a recipe
    run three.py
        without a study, expected a file that defines `study = tfaudit.Study(...)`
    run empty.py
        without a study, expected
    run steps.py
        1 or more
    run digits --workers 0
        workers: got 0, expected 1 or more
    run digits --out empty.py
        --out: got empty.py, which cannot be written
    run fails.py --population 0
        population: got 0, expected 1 or more
    run fails.py --retries -1
        retries: got -1, expected 0 or more
    run fails.py --engine slurm
        engine: got 'slurm', expected 'local'
    run fails.py --address h:1
        address: got 'h:1', expected no such option with the local engine
    report .
        holds no study
    prepare kmnist --from nowhere
        nowhere
""")
def test_bad_input_is_one_line_before_anything_runs(tfaudit, refused, tmp_path, words, message):
    (tmp_path / "three.py").write_text("study = 3")
    (tmp_path / "empty.py").touch()
    (tmp_path / "steps.py").write_text("from tfaudit import Training\nTraining(steps=0)")
    (tmp_path / "fails.py").write_text("raise RuntimeError('imported')")
    refused(tfaudit(*words), message)
    assert not (tmp_path / "runs").exists()
