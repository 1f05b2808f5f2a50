"""Real runs with real workers: what is made, resumed, killed, damaged and refused."""

import dataclasses
import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import time

import keras
import numpy as np
import psutil
import pytest

from tests.builders.tiny_studies import SCRIPT, STUDY
from tfaudit import InputError, Pruned, Training, open_store, predict, run, sparsity
from tfaudit.population import worker_process
from tfaudit.store.store import Store

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def finished(made_once) -> Store:
    return open_store(made_once("tiny", lambda directory: run(STUDY, directory, workers=2)))


@pytest.fixture
def copied(finished, warm_workers, tmp_path) -> Store:
    return open_store(shutil.copytree(finished.directory, tmp_path / "copy"))


def stamps(store):
    return {
        path: path.stat().st_mtime_ns
        for path in sorted((store.directory / "members").rglob("*.*"))
        if path.is_file()
    }


def test_every_member_is_there_and_is_what_it_says(finished):
    assert finished.failures() == {}
    assert finished.variants == ("dense", "magnitude-0.5", "int8")
    predictions = finished.predictions("magnitude-0.5")
    assert predictions.ranked.shape == (2, 120, 5)
    for member in range(2):
        path = finished.directory / finished.member_path("magnitude-0.5", member, "model.keras")
        model = keras.saving.load_model(path)
        kernels = sparsity(model).set_index("kernel").loc["total: kernels", "sparsity"]
        assert kernels == pytest.approx(finished.record("magnitude-0.5", member)["sparsity"])
        assert kernels == pytest.approx(0.5, abs=0.01)
        images = np.stack([_pixels(png) for png in finished.examples()["image"]])
        ranked, probabilities = predict(path, images)
        np.testing.assert_array_equal(ranked, predictions.ranked[member])
        np.testing.assert_allclose(probabilities, predictions.probabilities[member], atol=1e-5)
    flatbuffer = finished.directory / finished.member_path("int8", 1, "model.tflite")
    assert flatbuffer.stat().st_size == finished.record("int8", 1)["bytes"]
    assert finished.record("int8", 1)["accuracy"] == finished.predictions("int8").accuracy()[1]
    assert (
        json.loads((finished.directory / "study.json").read_text())["versions"]["keras"]
        == keras.__version__
    )


def _pixels(png):
    import io

    from PIL import Image

    return np.array(Image.open(io.BytesIO(png)))[..., None]


def test_a_second_run_makes_nothing_and_damage_is_repaired(copied):
    before = stamps(copied)
    run(STUDY, copied.directory, workers=1)
    assert stamps(copied) == before
    expected = copied.predictions("dense").probabilities
    for member, damage in enumerate(
        (lambda b: b[: len(b) // 2], lambda b: b[:-40] + bytes([b[-40] ^ 1]) + b[-39:])
    ):
        path = copied.directory / copied.prediction_path("dense", member)
        path.write_bytes(damage(path.read_bytes()))
    shutil.rmtree(copied.directory / "members/int8/000")
    (copied.directory / "examples/test.parquet").write_bytes(b"PAR1")
    run(STUDY, copied.directory, workers=1)
    np.testing.assert_array_equal(
        copied.predictions("dense").probabilities, expected
    )  # one worker, same bits
    assert copied.members("int8") == (0, 1)
    after = stamps(copied)
    unchanged = [path for path in before if "magnitude" in str(path)]
    assert all(after[path] == before[path] for path in unchanged)


def test_the_population_grows_and_its_first_members_stay(copied):
    before = stamps(copied)
    grown = run(dataclasses.replace(STUDY, population=3), copied.directory, workers=1)
    assert grown.predictions("int8").members == (0, 1, 2)
    assert {path: stamp for path, stamp in stamps(copied).items() if path in before} == before


def test_a_member_that_fails_is_recorded_while_the_others_go_on(warm_workers, tmp_path):
    study = dataclasses.replace(STUDY, variants=(Pruned(0.5, layers=("nope",)),), population=1)
    store = run(study, tmp_path / "s", workers=1)
    ((pair, traceback),) = store.failures().items()
    assert pair == ("magnitude-0.5-layers=nope", 0)
    assert "Traceback" in traceback
    assert "nope" in traceback.strip().splitlines()[-1]
    assert store.variants == ("dense",)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model": "nope"}, "'nope'.*digits_convnet"),
        ({"dataset": "nope"}, "name: got 'nope', expected a data set's name"),
        (
            {"model_options": {"depth": 3}},
            "options: got 'depth', expected options of 'digits_convnet'",
        ),
    ],
)
@pytest.mark.usefixtures("warm_workers")
def test_a_study_that_cannot_run_is_one_line(tmp_path, change, message):
    before = psutil.Process().children()  # of other tests
    with pytest.raises(InputError, match=message) as caught:
        run(dataclasses.replace(STUDY, **change), tmp_path / "s", workers=1)
    assert "\n" not in str(caught.value)
    assert {*psutil.Process().children()} <= {*before}


def test_settings_that_no_run_takes(tmp_path, monkeypatch):
    with pytest.raises(InputError, match="workers: got 0, expected 1 or more"):
        run(STUDY, tmp_path, workers=0)
    with pytest.raises(InputError, match="engine: got 'mpi', expected 'local', 'ray'"):
        run(STUDY, tmp_path, engine="mpi")
    with pytest.raises(
        InputError, match=r"gpus: got 0\.5, expected no such option with the local engine"
    ):
        run(STUDY, tmp_path, gpus=0.5)
    with pytest.raises(
        InputError, match=r"gpus: got 1\.5, expected 0, a share of a GPU below 1, or a whole number"
    ):
        run(STUDY, tmp_path, engine="ray", gpus=1.5)
    with pytest.raises(InputError, match="timeout: got 0, expected a number of seconds above 0"):
        run(STUDY, tmp_path, timeout=0)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(
        InputError,
        match=r"engine: got 'ray', but Ray is not installed, .*pip install 'tfaudit\[ray\]'",
    ):
        run(STUDY, tmp_path, engine="ray")
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match=r"directory: got .*file, which cannot be written"):
        run(STUDY, tmp_path / "file", workers=1)


def start(study, directory):
    """Start a run from nothing; its workers are those of the test."""
    command = [
        sys.executable,
        "-c",
        SCRIPT,
        json.dumps(study.to_json()),
        str(directory),
        *worker_process.COMMAND,
    ]
    return subprocess.Popen(command)


def wait_for(condition, seconds=300):  # on a busy machine
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.02)


@pytest.mark.usefixtures("warm_workers")  # tests/faults kills workers that start from nothing
def test_killing_a_worker_and_then_the_whole_run_loses_only_what_was_in_flight(tmp_path):
    directory = tmp_path / "s"
    study = dataclasses.replace(STUDY, population=3, training=Training(steps=200, batch_size=32))
    process = start(study, directory)
    done = lambda: len(list(directory.glob("members/*/*/member.json")))  # noqa: E731
    wait_for(lambda: done() >= 2)
    workers = psutil.Process(process.pid).children()
    assert len(workers) == 2
    workers[0].send_signal(signal.SIGKILL)
    wait_for(lambda: done() >= 4)
    with pytest.raises(InputError, match="in use by another"):
        run(study, directory, workers=1)
    workers = psutil.Process(process.pid).children()
    process.kill()
    process.wait()
    psutil.wait_procs(workers, timeout=90)
    assert not any(worker.is_running() for worker in workers), "a worker outlived its run"
    store = open_store(directory)
    before = stamps(store)
    complete = {path for path in before if (path.parent / "member.json").exists()}
    assert done() < 9
    run(study, directory, workers=1)
    assert store.failures() == {}
    assert [store.predictions(v).members for v in store.variants] == [(0, 1, 2)] * 3
    after = stamps(store)
    assert all(after[path] == before[path] for path in complete)
    assert not list(directory.rglob("*.part")), "a half-written file was left"


def test_ctrl_c_ends_the_run_and_its_workers(tmp_path):
    directory = tmp_path / "s"
    study = dataclasses.replace(STUDY, population=30)
    (tmp_path / "recipe.py").write_text(
        "import json\nfrom tfaudit import Study\n"
        + f"study = Study.from_json(json.loads({json.dumps(study.to_json())!r}))"
    )
    command = [
        sys.executable,
        "-m",
        "tfaudit",
        "run",
        str(tmp_path / "recipe.py"),
        "--out",
        str(directory),
    ]
    command += ["--workers", "1"]
    process = subprocess.Popen(
        command,
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
        # What a shell starts in the background, these tests perhaps, ignores Ctrl-C and hands that down.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    wait_for(lambda: list(directory.glob("members/*/*/member.json")))
    workers = psutil.Process(process.pid).children()
    process.send_signal(signal.SIGINT)
    _, words = process.communicate(timeout=90)
    assert process.returncode == 130
    assert words.strip() == "tfaudit: interrupted; run the same command again to resume"
    assert not any(worker.is_running() for worker in workers)


def test_a_full_disk_is_one_line_and_the_run_goes_on_when_there_is_room(warm_workers, small_disk):
    study = dataclasses.replace(STUDY, population=3)
    with pytest.raises(
        InputError,
        match=r"cannot be written \(No space left on device: .*free space; then run again",
    ):
        run(study, small_disk / "s", workers=1)
    assert not list(small_disk.rglob("*.part"))
    made = open_store(small_disk / "s").members("dense")
    assert made
    subprocess.run(["mount", "-o", "remount,size=64m", small_disk], check=True)
    store = run(study, small_disk / "s", workers=1)
    assert store.failures() == {}
    assert len(store.members("int8")) == 3


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts a read-only tmpfs")
def test_a_directory_that_cannot_be_written_is_one_line(warm_workers, small_disk):
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    with pytest.raises(InputError, match=r"which cannot be written \(Read-only file system"):
        run(STUDY, small_disk / "s", workers=1)
