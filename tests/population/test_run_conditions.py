"""Real runs under conditions: evaluated, resumed, killed, damaged, grown and refused; the same bits by any workers."""

import dataclasses
import hashlib
import shutil
import signal

import psutil
import pytest
from numpy.testing import assert_array_equal
from typer.testing import CliRunner

from tests.builders.refusals import assert_refused
from tests.builders.small_stores import reseal, small_study
from tests.builders.tiny_studies import STUDY as PLAIN
from tests.builders.tiny_studies import stamps, started, wait_for, write_recipe
from tfaudit import InputError, Training, open_store, run
from tfaudit.cli import app
from tfaudit.population import worker_process
from tfaudit.store.files import lock
from tfaudit.store.members import read_sealed_json

STUDY = dataclasses.replace(
    PLAIN, corruptions=("fog", "shot_noise"), severities=(1, 5), corrupted_members=2
)


@pytest.fixture(scope="module")
def evaluated(trained, made_once, warm_python):
    def make(directory):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(worker_process, "COMMAND", (*warm_python, *worker_process.COMMAND[1:]))
            run(STUDY, shutil.copytree(trained.directory, directory), workers=2)

    return open_store(made_once("tiny-under-conditions", make))


@pytest.fixture
def copied(evaluated, warm_workers, tmp_path):
    return open_store(shutil.copytree(evaluated.directory, tmp_path / "copy"))


def contents(directory):
    files = directory.glob("predictions/split=[fs]*/*/*.parquet")
    return {path.relative_to(directory): path.read_bytes() for path in sorted(files)}


@pytest.mark.slow
def test_an_old_store_is_evaluated_without_training_anything(trained, evaluated):
    assert evaluated.conditions == STUDY.conditions
    assert stamps(evaluated.directory, "members/*/*/*") == stamps(
        trained.directory, "members/*/*/*"
    )
    assert len(contents(evaluated.directory)) == 4 * 3 * 2
    for key in evaluated.variants:
        for condition in evaluated.conditions:
            assert evaluated.predictions(key, condition.split).ranked.shape == (2, 120, 5)
    fog = [evaluated.predictions("dense", f"fog-{severity}") for severity in (1, 5)]
    assert_array_equal(fog[0].labels, evaluated.predictions("dense").labels)
    assert (fog[0].probabilities != fog[1].probabilities).any()
    assert not [
        path
        for path in evaluated.directory.rglob("*")
        if path.suffix not in _KNOWN and path.is_file()
    ]


_KNOWN = {".parquet", ".json", ".keras", ".tflite", ".csv", ".log", ".lock", ""}


@pytest.mark.slow
def test_a_second_run_does_nothing_and_damage_is_repaired(copied, monkeypatch):
    before, written = stamps(copied.directory, "predictions/*/*/*"), contents(copied.directory)
    with monkeypatch.context() as patch:
        patch.setattr(worker_process, "COMMAND", ("/bin/false",))  # whoever starts a worker fails
        run(STUDY, copied.directory, workers=2)
    assert stamps(copied.directory, "predictions/*/*/*") == before
    for name, damage in (
        ("dense", lambda b: b[: len(b) // 2]),
        ("int8", lambda b: b[:99] + bytes(4) + b[103:]),
    ):
        path = copied.directory / copied.prediction_path(name, 1, "fog-5")
        path.write_bytes(damage(path.read_bytes()))
        assert_refused("got a damaged file", copied.predictions, name, "fog-5")
    run(STUDY, copied.directory, workers=1)
    assert contents(copied.directory) == written
    changed = [
        path
        for path, stamp in stamps(copied.directory, "predictions/*/*/*").items()
        if stamp != before[path]
    ]
    assert len(changed) == 2


@pytest.mark.slow
def test_killing_a_worker_and_then_the_whole_run_loses_only_what_was_in_flight(
    trained, evaluated, warm_workers, tmp_path
):
    directory = shutil.copytree(trained.directory, tmp_path / "s")
    process = started(STUDY, directory)
    wait_for(lambda: len(contents(directory)) >= 2)
    workers = psutil.Process(process.pid).children()
    workers[0].send_signal(signal.SIGKILL)
    wait_for(lambda: len(contents(directory)) >= 7)
    with pytest.raises(InputError, match="in use by another"), lock(directory):
        pass
    workers = psutil.Process(process.pid).children()
    process.kill()
    process.wait()
    assert not psutil.wait_procs(workers, timeout=90)[1], "a worker outlived its run"
    existing = contents(directory)
    assert all(content == contents(evaluated.directory)[path] for path, content in existing.items())
    before = stamps(directory, "predictions/*/*/[!.]*")  # without what the killed were writing
    store = run(STUDY, directory, workers=1)
    assert contents(directory) == contents(evaluated.directory)
    assert store.evaluations.failures() == {}
    after = stamps(directory, "predictions/*/*/*")
    assert all(after[path] == stamp for path, stamp in before.items())
    assert not list(directory.rglob("*.part")), "a half-written file was left"


def break_model(store):
    """Put a model that cannot be opened into dense member 1, as if it had been stored so; return how to undo it."""
    name = store.member_path("dense", 1, "model.keras")
    model, record = (
        store.directory / name,
        store.directory / name.replace("model.keras", "member.json"),
    )
    before = {path: path.read_bytes() for path in (model, record)}
    model.write_bytes(b"no model")
    files = read_sealed_json(before[record])["files"]
    reseal(record, files=files | {name: {"sha256": hashlib.sha256(b"no model").hexdigest()}})
    return lambda: [path.write_bytes(content) for path, content in before.items()]


@pytest.mark.nightly  # every day: tests/datasets/test_benchmarks.py
def test_a_benchmark_set_is_written_down_by_its_configurations(warm_workers, tmp_path):
    names = {"dataset": "mock:mnist", "model": "lenet_r", "benchmarks": ("mock:mnist_corrupted/*",)}
    study = small_study(**names, variants=(), limit=8, population=1, training=Training(steps=1))
    store = run(study, tmp_path / "mnist", workers=1)
    assert len(store.study.benchmarks) == len(store.conditions) == 16
    assert store.predictions("dense", "mock.mnist_corrupted.zigzag").ranked.shape == (1, 8, 5)


@pytest.mark.slow
def test_the_command_line_tells_what_it_evaluates_and_what_failed(trained, warm_workers, tmp_path):
    directory = shutil.copytree(trained.directory, tmp_path / "s")
    study = dataclasses.replace(STUDY, corruptions=("fog",), corrupted_variants=("int8",))
    recipe = write_recipe(tmp_path, study)
    break_model(open_store(directory))
    words = f"run {recipe} --out {directory} --workers 1"
    result = CliRunner().invoke(app, words.split())
    assert "6 of 6 members exist already" in result.output
    assert "condition fog 1 failed: RuntimeError: dense/001" in result.output.replace("\n", " ")
    assert "trying again" not in result.output  # a damaged model stays one
    assert "condition fog-5 failed: RuntimeError: dense/001" in result.output
    assert "2 conditions failed; run the same command again once that is mended" in result.output
    assert result.exit_code == 1


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"benchmarks": ("mnist_corrupted/fog",)},
            "got 'mnist_corrupted/fog', which is not prepared in .*; get it",
        ),
        (
            {"benchmarks": ("mock:mnist_corrupted/fog",)},
            r"with images \(28, 28, 1\), expected the model.s input, \(8, 8, 1\)",
        ),
        ({"benchmarks": ("mnist_corrupted/*",)}, "with none of its 16 configurations prepared in"),
    ],
)
def test_what_cannot_be_tested_is_one_line_before_anything_starts(
    tmp_path, monkeypatch, changes, message
):
    monkeypatch.setenv("TFDS_DATA_DIR", str(tmp_path / "nothing"))
    assert_refused(message, run, dataclasses.replace(PLAIN, **changes), tmp_path / "s", workers=1)
    assert not (tmp_path / "s").exists()
