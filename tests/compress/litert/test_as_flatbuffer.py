"""The two routes to a float32 flatbuffer: TensorFlow Lite, and StableHLO in an environment without TensorFlow."""

import os
import subprocess
import sys
from pathlib import Path

import keras
import numpy as np
import pytest
from numpy.testing import assert_allclose

from tests.builders.refusals import assert_refused
from tests.builders.stacks import stack
from tfaudit.compress.litert import stablehlo
from tfaudit.compress.litert.flatbuffer import Flatbuffer
from tfaudit.compress.litert.quantize import as_flatbuffer

ROOT = Path(__file__).parents[3]


def test_tensorflow_lite_is_the_route_of_keras_on_tensorflow():
    model = stack((4,), keras.layers.Dense(2))
    x = np.random.default_rng(0).random((3, 4), "f4")
    found = Flatbuffer(as_flatbuffer(model))(x)
    assert_allclose(found, model.predict(x, verbose=0), atol=1e-6)


@pytest.mark.parametrize("module", ["jax", "litert_converter"])
def test_a_missing_library_of_the_jax_route_is_one_line(module, monkeypatch):
    model = stack((4,), keras.layers.Dense(2))
    monkeypatch.setattr(keras.backend, "backend", lambda: "jax")
    monkeypatch.setitem(sys.modules, module, None)
    if module == "litert_converter":
        monkeypatch.setattr(stablehlo, "_exported", lambda model: "")
    assert_refused(rf"no installed {module}, .*pip install 'tfaudit\[jax\]'", as_flatbuffer, model)


ON_JAX = """
import sys
import keras
import numpy as np
from keras import layers as L
from tfaudit.compress import as_flatbuffer, quantize
from tfaudit.compress.litert.flatbuffer import Flatbuffer
from tfaudit.compress.litert.flatbuffer_contents import weight_types
from tfaudit.errors import InputError

def images():
    i = L.Input((16, 16, 3))
    x = L.BatchNormalization()(L.DepthwiseConv2D(3, padding="same")(i))
    x = L.GlobalAveragePooling2D()(L.Conv2D(8, 3, 2, activation="relu6")(L.MaxPooling2D()(x)))
    return keras.Model(i, L.Dense(4, activation="softmax")(x))

def attention():
    i = L.Input((8, 16))
    x = L.LayerNormalization()(i)
    x = L.Dense(16, activation="gelu")(x + L.MultiHeadAttention(2, 8)(x, x))
    return keras.Model(i, L.Dense(4)(L.GlobalAveragePooling1D()(x)))

def both():
    tokens, row = L.Input((6,), dtype="int32", name="tokens"), L.Input((3,), name="row")
    x = L.Concatenate()([L.Flatten()(L.Embedding(9, 4)(tokens)), row])
    return keras.Model({"tokens": tokens, "row": row}, {"a": L.Dense(2, name="a")(x), "b": L.Dense(3, name="b")(x)})

draws = np.random.default_rng(1)
for build in (images, attention, both):
    model = build()
    network = Flatbuffer(as_flatbuffer(model))
    x = {s.name: draws.integers(0, 9, (5, *s.shape[1:])).astype(s.dtype) for s in model.inputs}
    x = x if len(x) > 1 else next(iter(x.values()))
    expected, found = model.predict(x, verbose=0), network.all_outputs(x)
    if not isinstance(expected, dict):
        expected, found = {"": expected}, {"": next(iter(found.values()))}
    for kind, share in (("float16", 1e-3), ("dynamic_range", 0.05), ("int4", 0.5)):
        content = quantize(model, kind, representative=x, quantizer="litert")
        types = {dtype for dtype, _ in weight_types(content).values()}
        assert kind == "float16" or {"int8", "int4"} & types, kind
        rounded = Flatbuffer(content).all_outputs(x)
        for name, scores in network.all_outputs(x).items():
            difference = np.abs(rounded[name] - scores).max()
            assert 0 < difference < share * np.abs(scores).max(), (kind, name, difference)
    print(build.__name__, max(np.abs(expected[name] - found[name]).max() for name in expected))
try:
    as_flatbuffer(keras.Sequential([L.Input((8, 4)), L.LSTM(3)]))
except InputError as error:
    print(error)
import litert_converter
print(*[name for name in vars(litert_converter) if "convert" in name and not name.endswith("_ext")])
print("tensorflow" in sys.modules)
"""


QUICK = "--xla_backend_optimization_level=0"  # the time goes into compiling initializers


@pytest.mark.slow
def test_stablehlo_is_the_route_of_keras_on_jax_without_tensorflow(tmp_path):
    uv = [sys.executable, "-m", "uv", "--quiet"]
    subprocess.run([*uv, "venv", "--python", sys.executable, tmp_path / "jax"], check=True)
    install = [*uv, "pip", "install", "--python", tmp_path / "jax", "-r", ROOT / "pyproject.toml"]
    subprocess.run([*install, "--extra", "jax"], check=True)
    done = subprocess.run(
        [tmp_path / "jax/bin/python", "-c", ON_JAX],
        env={**os.environ, "KERAS_BACKEND": "jax", "PYTHONPATH": str(ROOT), "XLA_FLAGS": QUICK},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    *converted, refused, public, has_tensorflow = done.stdout.splitlines()
    assert (
        not public
    )  # a documented function would replace what `stablehlo` takes from converter_api_ext
    differences = dict(line.split() for line in converted)
    assert set(differences) == {"images", "attention", "both"}
    assert max(map(float, differences.values())) < 1e-5
    assert refused.startswith("model: got 'sequential', which litert-converter cannot convert")
    assert has_tensorflow == "False"
