"""`--import` on every command: layers of the user's own."""

import subprocess
import sys

import numpy as np
import pytest

from tfaudit.cli import main

LAYERS = """
import keras

@keras.saving.register_keras_serializable("mine")
class Doubled(keras.layers.Layer):
    def call(self, x):
        return 2 * x
"""
SAVE = """
import keras, my_layers
model = keras.Sequential([keras.Input((4,)), my_layers.Doubled(), keras.layers.Dense(3)])
model.save("mine.keras")
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory, warm_python):
    place = tmp_path_factory.mktemp("layers")
    (place / "my_layers.py").write_text(LAYERS)
    rng = np.random.default_rng(0)
    np.savez(place / "data.npz", x=rng.normal(size=(30, 4)), y=np.arange(30) % 3)
    subprocess.run([*warm_python, "-c", SAVE], cwd=place, check=True, capture_output=True)
    return place


def run(place, monkeypatch, capsys, *words):
    monkeypatch.chdir(place)
    monkeypatch.setattr(sys, "argv", ["tfaudit", *words])
    with pytest.raises(SystemExit) as left:
        main()
    captured = capsys.readouterr()
    return left.value.code or 0, captured.out, captured.err


@pytest.mark.slow
def test_a_missing_class_is_named_and_can_be_imported(place, monkeypatch, capsys):
    command = (
        "compare",
        "--baseline",
        "mine.keras",
        "--compressed",
        "mine.keras",
        "--data",
        "data.npz",
    )
    code, _, errors = run(place, monkeypatch, capsys, *command)
    assert (code, errors.count("\n")) == (2, 1)
    assert (
        "mine.keras, whose class 'Doubled' is not registered, expected the module that registers it"
        in errors
    )
    assert "--import MODULE" in errors
    code, _, errors = run(place, monkeypatch, capsys, *command, "--import", "no_layers")
    assert (code, errors.count("\n")) == (2, 1)
    assert "--import: got 'no_layers', which is no module that can be imported" in errors
    code, text, errors = run(place, monkeypatch, capsys, *command, "--import", "my_layers.py")
    assert (code, errors) == (0, "")
    assert "30 images of 3 classes" in text or "mine" in text
    assert (
        run(
            place,
            monkeypatch,
            capsys,
            "--import=my_layers.py",
            "cost",
            "mine.keras",
            "--repeats",
            "0",
        )[0]
        == 0
    )
    code, _, errors = run(place, monkeypatch, capsys, "list", "--import")
    assert (code, errors) == (
        2,
        "tfaudit: --import: got nothing, expected a module, such as my_layers, or a Python file\n",
    )
