"""Keras on another backend than TensorFlow: commands take its models, functions in its process refuse in one line."""

import subprocess
import sys

import keras
import numpy as np
import pytest

import tfaudit
from tests.builders.refusals import assert_refused

REFUSAL = "^KERAS_BACKEND: got 'jax', expected 'tensorflow'; a saved model"
IMAGES = np.random.default_rng(0).random((40, 4, 4, 1), "f4")
LABELS = np.arange(40) % 2


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
        lambda model: tfaudit.predict(model, IMAGES),
        lambda model: tfaudit.quantize(model, "float16"),
        tfaudit.quantization_aware,
        tfaudit.cost,
        lambda model: tfaudit.recalibrate_batch_norm(model, IMAGES),
        lambda model: tfaudit.Pruning(0.5).set_model(model),
        lambda model: tfaudit.ClassAudit((IMAGES, LABELS)).set_model(model),
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
