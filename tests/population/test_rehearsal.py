"""Rehearsals: every phase at its true shape, a member killed and resumed, and what the run would take."""

import dataclasses
import re

import pytest

from tests.builders.nightly import and_nightly
from tests.builders.refusals import assert_refused
from tests.builders.tiny_studies import STUDY, write_recipe
from tfaudit import Pruned, Quantized, Training
from tfaudit.cli import app
from tfaudit.cli.console import out
from tfaudit.population import rehearsal
from tfaudit.population.engine_options import EngineOptions
from tfaudit.population.rehearsal import Rehearsal
from tfaudit.recipes.celeb_a_resnet18 import study as celeb_a
from tfaudit.recipes.cifar10_wide_resnet import study as cifar10
from tfaudit.recipes.imagenet_resnet50 import study as imagenet

ONE = EngineOptions(workers=1)


def rehearse(*arguments):
    app(["run", *map(str, arguments), "--rehearse"], standalone_mode=False)


@pytest.mark.slow
def test_every_phase_is_rehearsed_and_the_hours_are_those_of_its_step(
    tmp_path, monkeypatch, capsys, warm_workers
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(out, "width", 250)
    monkeypatch.setattr(rehearsal, "INPUT_SECONDS", 0.2)
    study = dataclasses.replace(STUDY, corruptions=("fog",), severities=(1,))
    rehearse(write_recipe(tmp_path, study), "--dollars-per-hour", 1e9)
    printed = capsys.readouterr().out
    rows = {
        line[:28].strip(): line[29:].strip() for line in printed.splitlines() if line[:1].strip()
    }
    assert rows["shape"].endswith("64 training and 64 test examples; batches of 32")
    assert re.fullmatch(r"trained and tested in .* s a member", rows["magnitude 50 %"])
    assert re.fullmatch(r"made and tested in .* s a member", rows["fixed-point int8"])
    assert re.fullmatch(r"6 members tested in .* s", rows["fog 1"])
    assert re.fullmatch(
        r"magnitude-0\.5/000 killed at a checkpoint of .*, resumed: [\d,]+ weights, the same bits",
        rows["kill, resume"],
    )
    assert rows["audit"].startswith("3 variants in ")
    assert "cannot judge 2" in rows["gate"]
    assert float(rows["input"].split()[0].replace(",", "")) > 0
    step = float(rows["step"].split()[0])
    # Two members of two variants are trained for 12 steps.
    cost = float(rows["cost"].strip("$").replace(",", ""))
    assert cost == pytest.approx(4 * 12 * step / 3600 * 1e9, rel=0.05)
    assert not (tmp_path / "runs").exists()


@pytest.mark.nightly
def test_members_that_continue_the_dense_ones_are_rehearsed(
    tmp_path, monkeypatch, capsys, warm_workers
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(out, "width", 250)
    late = Pruned(0.7, begin=0.7, frequency=1)
    variants = (Pruned(0.5), late, Quantized("int8"))
    study = dataclasses.replace(STUDY, variants=variants, fork=True)
    rehearse(write_recipe(tmp_path, study))
    printed = capsys.readouterr().out
    assert re.search("^magnitude 70 % .* trained and tested", printed, re.MULTILINE)
    assert "magnitude-0.5/000 killed" in printed  # a forked member needs a dense one
    assert "4 variants in " in printed
    # The dense members of the whole run give the first 7 of 12 steps of both forked members.
    assert "58; 19% fewer than without forks" in printed


@pytest.mark.slow
def test_a_resumed_member_of_other_bits_is_refused(tmp_path, warm_workers):
    one = Rehearsal(dataclasses.replace(STUDY, variants=()), ONE)
    one.run(tmp_path)
    one.short = dataclasses.replace(one.short, seed=7)
    expected = r"checkpoint: got \d+ of \d+ variables of dense/000 that differ after SIGKILL"
    assert_refused(expected, one._killed_and_resumed, tmp_path / "killed")


@pytest.mark.parametrize(
    ("study", "batch", "micro"),
    and_nightly(
        [(STUDY, 32, None)], [(celeb_a, 256, None), (imagenet, 64, 16), (cifar10, 64, None)]
    ),
    ids=lambda value: getattr(value, "name", None),
)
@pytest.mark.slow
def test_model_and_images_are_the_recipes_and_batches_fit_a_processor(study, batch, micro):
    short = Rehearsal(study, ONE).short
    kept = ("model", "model_options", "image_size", "crop", "dataset")
    assert all(getattr(short, name) == getattr(study, name) for name in kept)
    assert (short.training.batch_size, short.training.micro_batch) == (batch, micro)
    assert short.limit == max(batch, 64)
    changed = ("steps", "epochs", "batch_size", "micro_batch", "steps_per_execution")
    back = {name: getattr(study.training, name) for name in changed}
    assert dataclasses.replace(short.training, **back) == study.training
    assert len(short.variants) == min(len(study.variants), 4)


def test_on_a_gpu_the_batch_is_whole(monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    short = Rehearsal(imagenet, EngineOptions(gpus=1)).short
    assert (short.training.batch_size, short.training.micro_batch) == (4096, 256)
    assert short.limit == 4096


def test_benchmarks_of_some_classes_are_tested_in_both_ways():
    study = dataclasses.replace(
        STUDY, benchmarks=("cifar10_corrupted/fog_1", "cifar10_corrupted/fog_2", "imagenet_a")
    )
    assert Rehearsal(study, ONE).short.benchmarks == (
        "cifar10_corrupted/fog_1",
        "imagenet_a",
        "imagenet_a/restricted",
    )


@pytest.mark.slow
def test_a_study_without_training_steps_kills_nothing(tmp_path, warm_workers):
    study = dataclasses.replace(
        STUDY, training=Training(epochs=0), variants=(Quantized("float16"),), population=1
    )
    one = Rehearsal(study, ONE)
    one.run(tmp_path)
    rows = dict(one.phases(tmp_path))
    assert rows["kill, resume"] == "no training that makes checkpoints"
    assert rows["step"].startswith("unknown")
    assert "input" not in rows


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["digits", "--until-decided"], "--until-decided: got True, expected no such option"),
        (["digits", "--gpus", "7"], "gpus: got 7.0, expected at most 0"),
        (["digits", "--memory", "9e6"], "memory: got 9e.06 GB, expected at most .* GB, the free"),
    ],
)
def test_errors_are_one_line(tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    (tmp_path / "wrong.py").write_text("import no_such_module")
    assert_refused(message, rehearse, *arguments)


def test_photographs_are_for_rehearsals():
    command = ["run", "digits", "--photographs", "here"]
    assert_refused(
        "photographs: got here, expected no such option without --rehearse",
        app,
        command,
        standalone_mode=False,
    )


def test_a_full_disk_is_one_line(small_disk, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(small_disk))
    assert_refused("directory: got .*expected", rehearse, "celeb_a_resnet18")
    assert not list(small_disk.glob("tfaudit-*"))


@pytest.mark.nightly
def test_imagenet_is_rehearsed_at_its_true_shape(tmp_path):
    """On noise, within the memory of a small machine; its resumed member has the bits of an uninterrupted one."""
    one = Rehearsal(imagenet, EngineOptions(workers=1, cpus=2))
    (tmp_path / "data").mkdir()
    with one.data(tmp_path / "data", None) as told:
        assert "noise stand for imagenet2012, imagenet_a" in told["data"]
        assert told["shape"].startswith("inputs 224x224x3")
        store = one.run(tmp_path)
        assert not store.failures()
        rows = dict(one.phases(tmp_path))
    assert rows["kill, resume"].endswith("the same bits")
    assert {"imagenet_a", "imagenet_a/restricted", "gaussian_noise 1"} <= rows.keys()
    assert all(store.record(key, 0)["peak_bytes"] < 12e9 for key in store.variants)
    assert one.step_seconds > 0
