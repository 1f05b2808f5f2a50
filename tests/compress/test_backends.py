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
NEEDS_TENSORFLOW = "InputError: KERAS_BACKEND: got "
REFUSED = {
    "`Pruning`, gradient": "InputError: method: got 'gradient' with KERAS_BACKEND=",
    "`cost`": NEEDS_TENSORFLOW,
    "`quantization_aware`": NEEDS_TENSORFLOW,
}
"""Commands that say why they do not run."""
ON_TORCH = {
    "`Pruning`, several steps per execution": "ValueError: `steps_per_execution` must be 1 with"
}


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
        tfaudit.quantization_aware,
        tfaudit.cost,
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
    lines = [f"import site; site.addsitedir({path!r})" for path in here]
    (packages / "here.pth").write_text("\n".join(lines))
    install = [*uv, "pip", "install", "--python", folder / "own"]
    subprocess.run([*install, library], check=True)
    return folder / "own/bin/python"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Return a function that runs Python with the library of a backend."""
    pythons = {}

    def run(backend, *command, keras="tensorflow"):
        if backend not in pythons:
            pythons[backend] = python_with(backend, tmp_path_factory.mktemp(backend))
        done = subprocess.run(
            [pythons[backend], *command],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT), "KERAS_BACKEND": keras},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run


@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.parametrize("backend", ["jax", "torch"])
def test_results_are_those_of_tensorflow(backend, run):
    lines = run(backend, "benchmarks/backends.py", backend).splitlines()[2:]
    cells = dict(line.strip("| ").split(" | ") for line in lines)
    refused = REFUSED | (ON_TORCH if backend == "torch" else {})
    for name, start in refused.items():
        assert cells.pop(name).startswith(start)
    differences = {name: float(cell) for name, cell in cells.items()}
    assert len(differences) > 10
    assert max(differences.values()) < 1e-5, differences


@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.parametrize("backend", ["jax", "torch"])
def test_fits_with_masks(backend, run):
    told = run(
        backend,
        "-m",
        "pytest",
        "tests/compress/pruning/test_pruning_elsewhere.py",
        keras=backend,
    )
    assert ("10 passed" if backend == "jax" else "9 passed, 1 skipped") in told
