"""The page on devices: every script with a stand-in for its device, up to the gate's verdict."""

import functools
import os
import re
import shlex
import subprocess
import sys
import threading
from pathlib import Path

import keras
import numpy as np
import pytest
from sklearn.datasets import load_digits

from tests.builders.reference_kernels import reference
from tfaudit import quantize

DOCS = Path(__file__).parents[1] / "docs"
PAGE = (DOCS / "devices.md").read_text().replace(" \\\n        ", " ")
SCRIPTS = {
    name: (DOCS / "scripts" / name).read_text()
    for name in re.findall(r"```{literalinclude} scripts/(\w+\.py)", PAGE)
}
ADB = """#!{python}
import shutil, sys
from pathlib import Path
phone = Path({phone!r})
_, verb, *words = sys.argv
if verb == "push":
    for name in words[:-1]:
        shutil.copy(name, phone)
elif verb == "shell":
    sys.path.insert(0, {tests!r})
    from reference_kernels import reference
    example = (phone / "example.bin").read_bytes()
    (phone / "scores.bin").write_bytes(reference((phone / "model.tflite").read_bytes())(example))
else:
    sys.stdout.buffer.write((phone / "scores.bin").read_bytes())
"""


def serve(line, size, run):
    """Answers on a serial line as a microcontroller does."""
    with os.fdopen(line, "r+b", buffering=0) as port:
        while example := _exactly(port, size):
            port.write(run(example))


def _exactly(port, size):
    data = b""
    while len(data) < size:
        try:
            data += port.read(size - len(data))
        except OSError:  # the other end is closed
            return b""
    return data


@pytest.fixture(scope="module")
def run(tmp_path_factory, warm_python):
    """`run(command, codes=(0,), path="", **words)` runs a command of the page in a folder, which is `run.place`."""
    run = functools.partial(run_in, tmp_path_factory.mktemp("devices"), warm_python)
    run.place = run.args[0]
    return run


@pytest.fixture(scope="module")
def place(run):
    """A convnet of digits, its int8 file, and data; 20 examples, since a phone takes a command for each."""
    place = run.place
    digits = load_digits()
    images = (digits.images[..., None] / 16).astype("float32")
    keras.utils.set_random_seed(1)
    model = keras.Sequential(
        [
            keras.Input((8, 8, 1)),
            keras.layers.Conv2D(8, 3, activation="relu"),
            keras.layers.GlobalMaxPooling2D(),
            keras.layers.Dense(10, activation="softmax"),
        ]
    )
    model.compile(keras.optimizers.Adam(0.01), "sparse_categorical_crossentropy")
    model.fit(images[:600], digits.target[:600], epochs=10, verbose=0)
    model.save(place / "dense.keras")
    content = quantize(model, "int8", representative=images[:100], io="int8")
    (place / "model.tflite").write_bytes(content)
    np.savez(place / "data.npz", images=images[-20:], labels=digits.target[-20:])
    (place / "benchmark_model").touch()
    for name, script in SCRIPTS.items():
        (place / name).write_text(script)
    run("python device_inputs.py")
    return place


def run_in(place, python, command, codes=(0,), path="", **words):
    command = shlex.split(command)
    program = [] if command[0] == "python" else ["-m", "tfaudit"]
    done = subprocess.run(
        [*python, *program, *(words.get(word, word) for word in command[1:])],
        cwd=place,
        env={**os.environ, "PATH": f"{path}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in codes, done.stdout + done.stderr
    return " ".join(done.stdout.split())


def serial(run, place):
    device, port = os.openpty()
    content = (place / "model.tflite").read_bytes()
    threading.Thread(target=serve, args=(device, 64, reference(content)), daemon=True).start()
    run("python serial_line.py PORT", PORT=os.ttyname(port))


def android(run, place):
    phone = place / "phone"
    phone.mkdir()
    adb = place / "bin" / "adb"
    adb.parent.mkdir()
    tests = str(Path(__file__).parent / "builders")
    adb.write_text(ADB.format(python=sys.executable, phone=str(phone), tests=tests))
    adb.chmod(0o755)
    run("python android.py INPUT_NAME", path=str(adb.parent))


def npu(run, place):
    run("python npu.py")


@pytest.mark.slow
@pytest.mark.parametrize("device", [serial, android, npu])
def test_the_gate_judges_what_the_device_predicts(run, place, device):
    device(run, place)
    commands = re.findall(r"^    ((?:python device_scores|tfaudit) ?.*)$", PAGE, re.MULTILINE)
    scores, gate, audit = commands
    run(scores)
    with np.load(place / "device.npz") as brought, np.load(place / "data.npz") as data:
        inputs = np.fromfile(place / "inputs.bin", np.int8).reshape(data["images"].shape)
        run_once = reference((place / "model.tflite").read_bytes())
        expected = [np.frombuffer(run_once(example.tobytes()), "i1") for example in inputs]
        np.testing.assert_array_equal(brought["scores"], expected)
    assert "overall drop" in run(gate, codes=(0, 1, 2))
    assert "device" in run(audit)
