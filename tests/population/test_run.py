"""Real runs with real workers: what is made, resumed, killed, damaged and refused."""

import dataclasses
import io
import json
import shutil
import signal
import subprocess
import sys

import keras
import numpy as np
import psutil
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from PIL import Image

from tests.builders.refusals import assert_refused
from tests.builders.tiny_studies import STUDY, stamps, wait_for, write_recipe
from tfaudit import Pruned, Quantized, open_store, predict, run, sparsity
from tfaudit.store.store import Store

pytestmark = pytest.mark.slow


@pytest.fixture
def copied(trained, warm_workers, tmp_path) -> Store:
    return open_store(shutil.copytree(trained.directory, tmp_path / "copy"))


def test_every_member_is_there_and_is_what_it_says(trained):
    assert trained.failures() == {}
    assert trained.variants == ("dense", "magnitude-0.5", "int8")
    predictions = trained.predictions("magnitude-0.5")
    assert predictions.ranked.shape == (2, 120, 5)
    for member in range(2):
        path = trained.directory / trained.member_path("magnitude-0.5", member, "model.keras")
        model = keras.saving.load_model(path)
        kernels = sparsity(model).set_index("kernel").loc["total: kernels", "sparsity"]
        assert kernels == pytest.approx(trained.record("magnitude-0.5", member)["sparsity"])
        assert kernels == pytest.approx(0.5, abs=0.01)
        images = np.stack([pixels(png) for png in trained.examples()["image"]])
        ranked, probabilities = predict(path, images)
        assert_array_equal(ranked, predictions.ranked[member])
        assert_allclose(probabilities, predictions.probabilities[member], atol=1e-5)
    flatbuffer = trained.directory / trained.member_path("int8", 1, "model.tflite")
    assert flatbuffer.stat().st_size == trained.record("int8", 1)["bytes"]
    assert trained.record("int8", 1)["accuracy"] == trained.predictions("int8").accuracy()[1]
    assert (
        json.loads((trained.directory / "study.json").read_text())["versions"]["keras"]
        == keras.__version__
    )


def pixels(png):
    return np.array(Image.open(io.BytesIO(png)))[..., None]


def test_population_and_variants_grow_and_the_members_that_are_there_stay(copied):
    members = "members/*/*/*.*"
    before = stamps(copied.directory, members)
    run(STUDY, copied.directory, workers=1)
    assert stamps(copied.directory, members) == before, "a second run makes nothing"
    more = dataclasses.replace(
        STUDY, variants=(Quantized("float16"), *STUDY.variants), population=3
    )
    grown = run(more, copied.directory, workers=1)
    assert grown.variants == ("dense", "float16", "magnitude-0.5", "int8")
    assert grown.predictions("int8").members == (0, 1, 2)
    assert grown.missing() == ()
    after = stamps(copied.directory, members)
    assert {path: stamp for path, stamp in after.items() if path in before} == before


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"model_options": {"depth": 3}},
            "options: got 'depth', expected options of 'digits_convnet'",
        ),
        (
            {"variants": (Pruned(0.5, method="gradient", granularity="channel"),)},
            "method: got 'gradient', expected .* with granularity='channel'",
        ),
    ],
)
@pytest.mark.usefixtures("warm_workers")
def test_a_study_that_cannot_run_is_one_line(tmp_path, change, message):
    before = psutil.Process().children()  # of other tests
    assert_refused(message, run, dataclasses.replace(STUDY, **change), tmp_path / "s", workers=1)
    assert {*psutil.Process().children()} <= {*before}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"engine": "mpi"}, "engine: got 'mpi', expected 'local'"),
        (
            {"address": "here:1"},
            "address: got 'here:1', expected no such option with the local engine",
        ),
        ({"cpus": 9999}, r"cpus: got 9999, expected at most \d+, the cores of this machine"),
        ({"memory": 10**15}, r"memory: got 1e\+06 GB, expected at most [\d.]+ GB, the free memory"),
        (
            {"gpus": 1.5},
            r"gpus: got 1\.5, expected 0, a share of a GPU below 1, or a whole number",
        ),
    ],
)
def test_settings_that_no_run_takes(tmp_path, options, message):
    assert_refused(message, run, STUDY, tmp_path, **options)


def test_a_folder_that_cannot_be_written_is_one_line(small_disk):
    (small_disk / "file").touch()
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    for name, reason in (("file", "File exists"), ("s", "Read-only file system")):
        message = rf"directory: got .*{name}, which cannot be written \({reason}"
        assert_refused(message, run, STUDY, small_disk / name, workers=1)


def test_ctrl_c_ends_the_run_and_its_workers(tmp_path):
    directory = tmp_path / "s"
    study = dataclasses.replace(STUDY, population=30)
    recipe = write_recipe(tmp_path, study)
    words = f"-m tfaudit run {recipe} --out {directory} --workers 1"
    process = subprocess.Popen(
        [sys.executable, *words.split()],
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
    study = dataclasses.replace(STUDY, population=6, variants=())
    assert_refused(
        r"cannot be written \(No space left on device: .*free space; then run again",
        run,
        study,
        small_disk / "s",
        workers=1,
    )
    assert not list(small_disk.rglob("*.part"))
    made = open_store(small_disk / "s").members("dense")
    assert made
    subprocess.run(["mount", "-o", "remount,size=64m", small_disk], check=True)
    store = run(study, small_disk / "s", workers=1)
    assert store.failures() == {}
    assert len(store.members("dense")) == 6
