"""What a run would take: by hand, and refused in one line where it cannot fit."""

import dataclasses
import shutil
from types import SimpleNamespace

import pytest

from tests.builders.refusals import assert_refused
from tests.builders.small_stores import small_study
from tfaudit import Pruned, Quantized, Training
from tfaudit.cli import app
from tfaudit.population.dry_run import Prices, dry_run
from tfaudit.population.engine_options import EngineOptions
from tfaudit.store.store import Store

STUDY = small_study(
    dataset="digits",
    training=Training(epochs=2, batch_size=100, checkpoint_every=30),
    retraining=Training(steps=5, batch_size=50),
    variants=(
        Pruned(0.5),
        Pruned(0.9, treatment="finetune"),
        Pruned(0.9, treatment="one_shot"),
        Quantized("float16"),
        Quantized("int8"),
    ),
    population=3,
    limit=950,
    model_options={"filters": [4], "units": 8},
)
ONE = EngineOptions(workers=1)


def told(tmp_path, study=STUDY, options=ONE, **prices):
    rows = dry_run(study, tmp_path / "s", options, Prices(**prices))
    assert not list(tmp_path.iterdir())
    return rows


def test_trainings_steps_hours_and_cost(tmp_path):
    rows = told(tmp_path, options=EngineOptions(workers=2), step_seconds=100, dollars_per_hour=2.5)
    assert rows["data"] == "digits, 950 training and 600 test examples"
    assert rows["members"] == "3 of each of 6 variants"
    assert rows["trainings"] == "6 of 20 steps and 3 of 5 steps"
    assert rows["steps"] == "135"
    assert rows["hours"] == "3.8 of members in training, 1.9 with 2 at once"
    assert rows["cost"] == "$9"
    assert "the 30 s since its last checkpoint" in rows["a failure"]
    assert told(tmp_path)["hours"] == "unknown without --step-seconds"


def test_members_that_are_there_take_no_time(tmp_path):
    fewer = dataclasses.replace(STUDY, variants=STUDY.variants[:1])
    store = Store.create(tmp_path / "s", fewer, {})
    for key, members in (("dense", 3), ("magnitude-0.5", 1)):
        for member in range(members):
            store.save_member(key, member, {}, {})
    rows = dry_run(STUDY, tmp_path / "s", ONE, Prices(step_seconds=100))
    assert rows["members"] == "3 of each of 6 variants; 4 of 18 exist already"
    assert rows["trainings"] == "2 of 20 steps and 3 of 5 steps"
    assert rows["steps"] == "55"
    store.save_member("magnitude-0.5", 1, {}, {})
    store.save_member("magnitude-0.5", 2, {}, {})
    assert dry_run(fewer, tmp_path / "s", ONE, Prices())["trainings"] == "none"
    other = dataclasses.replace(STUDY, seed=1)
    expected = "directory: got .*, which holds another study: its seed is 0, not 1"
    assert_refused(expected, dry_run, other, tmp_path / "s", ONE, Prices())


def test_forks_save_steps_and_take_disk(tmp_path, monkeypatch):
    late = dataclasses.replace(STUDY, variants=(Pruned(0.5, begin=0.5), Pruned(0.9, begin=0.5)))
    assert told(tmp_path, late)["steps"] == "180"
    forked = dataclasses.replace(late, fork=True)
    rows = told(tmp_path, forked, step_seconds=60)
    # Each of six members saves 9 of its 20 steps.
    assert rows["steps"] == "126; 30% fewer than without forks"
    assert rows["hours"].startswith("2.1 of members in training")

    def size(study):
        wide = dataclasses.replace(study, model_options={"filters": [64], "units": 64})
        return float(told(tmp_path, wide)["disk"].split()[0])

    assert size(forked) > size(late)


def test_the_disk_must_hold_the_members(tmp_path, monkeypatch):
    assert ", of " in told(tmp_path)["disk"]
    monkeypatch.setattr(shutil, "disk_usage", lambda place: SimpleNamespace(free=1000))
    assert_refused(r"directory: got .*, for .* kB, expected at most 1 kB", told, tmp_path)


def test_a_set_that_is_not_at_hand_leaves_epochs_uncounted(tmp_path):
    study = dataclasses.replace(
        STUDY, dataset="svhn_cropped", model="cifar_convnet", model_options={}
    )
    rows = told(tmp_path, study)
    assert rows["data"] == "svhn_cropped: the data set is not at hand"
    assert rows["trainings"] == "6 of an unknown number of steps and 3 of 5 steps"
    assert "without predictions" in rows["disk"]


def test_a_training_function_is_not_estimated(tmp_path):
    rows = told(tmp_path, dataclasses.replace(STUDY, training="package.fits:fit"))
    assert rows["disk"] == "unknown, since a function trains the members"


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("", ["--step-seconds", "0"], "--step-seconds: got 0.0, expected a number above 0"),
    ],
)
def test_errors_are_one_line(tmp_path, text, options, message):
    path = tmp_path / "mine.py"
    path.write_text(text)
    recipe = [str(path)] if text else ["digits"]
    assert_refused(message, app, ["run", *recipe, "--dry-run", *options], standalone_mode=False)


def test_the_command_prints_the_changed_study(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    arguments = ["run", "digits", "--dry-run", "--steps", "7", "--population", "2"]
    app([*arguments, "--batch-size", "64", "--workers", "1"], standalone_mode=False)
    printed = capsys.readouterr().out
    assert "6 of 7 steps" in printed
    assert "memory" not in printed
    assert not list(tmp_path.iterdir())
