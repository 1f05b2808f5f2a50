"""`--import` on every command: layers of the user's own."""

import subprocess

import numpy as np
import pytest

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


@pytest.mark.slow
def test_a_missing_class_is_named_and_can_be_imported(place, tfaudit_in, refused):
    run = tfaudit_in(place)
    models = ("--baseline", "mine.keras", "--compressed", "mine.keras")
    command = ("compare", *models, "--data", "data.npz")
    refused(
        run(*command),
        "mine.keras, whose class 'Doubled' is not registered, expected the module that registers it",
    )
    refused(run(*command), "--import MODULE")
    refused(
        run(*command, "--import", "no_layers"),
        "--import: got 'no_layers', which is no module that can be imported",
    )
    refused(
        run("list", "--import"),
        "--import: got nothing, expected a module, such as my_layers, or a Python file",
    )
    code, text, errors = run(*command, "--import", "my_layers.py")
    assert (code, errors) == (0, "")
    assert "mine" in text
    assert run("--import=my_layers.py", *command)[0] == 0
