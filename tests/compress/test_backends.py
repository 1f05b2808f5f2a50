"""Keras on other backends than TensorFlow: results are the same, and what needs TensorFlow refuses in one line."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import keras
import numpy as np
import pytest

import tfaudit
from tests.builders.refusals import assert_refused

REFUSAL = "^KERAS_BACKEND: got 'jax', expected 'tensorflow'; a saved model"
IMAGES = np.random.default_rng(0).random((40, 4, 4, 1), "f4")
LABELS = np.arange(40) % 2
ROOT = Path(__file__).parents[2]
NOT_THERE = {"`shrink`"}
"""Commands that fail on JAX and torch."""


@pytest.fixture
def model():
    layers = [keras.Input((4, 4, 1)), keras.layers.Flatten(), keras.layers.Dense(2)]
    model = keras.Sequential(layers)
    model.compile("sgd", "sparse_categorical_crossentropy")
    return model


@pytest.fixture
def on_jax(monkeypatch):
    monkeypatch.setattr(keras.backend, "backend", lambda: "jax")


@pytest.mark.parametrize(
    "call",
    [
        lambda model: tfaudit.quantize(model, "float16"),
        tfaudit.quantization_aware,
        tfaudit.cost,
        lambda model: tfaudit.recalibrate_batch_norm(model, IMAGES),
        lambda model: tfaudit.Pruning(0.5).set_model(model),
    ],
)
def test_what_needs_tensorflow_says_so(model, on_jax, call):
    assert_refused(REFUSAL, call, model)


def test_masks_need_no_backend(model, on_jax):
    tfaudit.prune(model, 0.5)
    assert tfaudit.sparsity(model)["zeros"].iloc[0] == 16


@pytest.mark.slow
def test_a_command_reads_a_saved_model_whatever_the_backend(model, tmp_path):
    model.save(tmp_path / "model.keras")
    np.savez(tmp_path / "data.npz", x=IMAGES, y=LABELS)
    command = [
        "gate",
        "--baseline",
        "model.keras",
        "--compressed",
        "model.keras",
        "--data",
        "data.npz",
    ]
    done = subprocess.run(
        [sys.executable, "-P", "-m", "tfaudit", *command],
        cwd=tmp_path,
        env={"KERAS_BACKEND": "jax", "PATH": "/usr/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "model: PASS" in done.stdout or "CANNOT JUDGE" in done.stdout
    assert done.returncode in (0, 2)
    assert "KERAS_BACKEND=jax has no effect" in done.stderr


def python_with(library, folder):
    """Return a Python with a library: this one, or that of a new environment that sees the packages of this one."""
    if importlib.util.find_spec(library):
        return sys.executable
    uv = [sys.executable, "-m", "uv", "--quiet"]
    subprocess.run([*uv, "venv", "--python", sys.executable, folder / "own"], check=True)
    [packages] = (folder / "own/lib").glob("python*/site-packages")
    here = [path for path in sys.path if path.endswith("site-packages")]
    (packages / "here.pth").write_text(f"import site; [site.addsitedir(path) for path in {here}]")
    install = [*uv, "pip", "install", "--python", folder / "own"]
    subprocess.run([*install, library], check=True)
    return folder / "own/bin/python"


@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.parametrize("backend", ["jax", "torch"])
def test_results_are_those_of_tensorflow(backend, tmp_path):
    done = subprocess.run(
        [python_with(backend, tmp_path), ROOT / "benchmarks/backends.py", backend],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    rows = [line.strip("| ").split(" | ") for line in done.stdout.splitlines()[2:]]
    differences = {name: float(cell) for name, cell in rows if name not in NOT_THERE}
    assert len(differences) > 3
    assert max(differences.values()) < 1e-5, differences
