"""Model files in other formats: the error ends in the Python code that converts them."""

import pathlib

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests.builders.small_stores import small_study
from tests.builders.stacks import stack
from tfaudit.compress.counts import counts
from tfaudit.compress.litert.inference import predict
from tfaudit.compress.litert.quantize import quantize
from tfaudit.compress.model_files import require_keras_file
from tfaudit.errors import InputError


@pytest.fixture
def network(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return stack((4,), keras.layers.Dense(3, kernel_initializer="identity"))


def code_for(path, use):
    with pytest.raises(InputError) as caught:
        use(path)
    return str(caught.value).partition(" file: ")[2]


def test_an_hdf5_file_is_converted_by_the_code_in_the_error(network):
    network.save("net.h5")
    users = (
        lambda path: predict(path, np.eye(4)),
        counts,
        lambda path: require_keras_file(pathlib.Path(path)),
        lambda path: quantize(path, "int8"),
        lambda path: small_study(model=path),
    )
    [code] = {code_for("net.h5", use) for use in users}
    eval(code, {"keras": keras})
    assert predict("net.keras", np.eye(4)[:3]).classes[:, 0].tolist() == [0, 1, 2]


def test_a_saved_model_is_converted_by_the_code_in_the_error(network):
    network.export("net", verbose=False)
    code = code_for("net", counts)
    eval(code, {"tf": tf, "pathlib": pathlib})
    assert predict("net.tflite", np.eye(4)[:3]).classes[:, 0].tolist() == [0, 1, 2]
    assert code_for(pathlib.Path("net/saved_model.pb"), require_keras_file).startswith(
        'model.save("net.keras")'
    )
    assert code_for("a.weights.h5", counts).startswith("build the model")
