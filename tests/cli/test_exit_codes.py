"""How the process ends, and what it writes to standard output, whatever the user's code does."""

import json
import shutil
import subprocess
import sys

import keras
import numpy as np
import pytest

from tests.builders.nightly import first_and_nightly
from tfaudit import quantize

JUDGE = (
    "--baseline",
    "net.tflite",
    "--compressed",
    "net.tflite",
    "--data",
    "own.py:load",
    "--json",
    "-",
)
LIMITS = {"pass": ("--max-overall-drop", "50"), "fail": ("--max-size-bytes", "10")}
VERDICTS = {"pass": 0, "fail": 1}
LOAD = "import atexit, ctypes, os, signal, subprocess, sys, threading, time, warnings\nimport numpy as np\n"
LOAD += "def load(split):\n    {body}\n    labels = np.arange(90) % 3\n"
LOAD += "    return (np.eye(3)[labels] + np.arange(90)[:, None] / 1000).astype('float32'), labels\n"
LAYER = """
import keras, os, sys
@keras.saving.register_keras_serializable("mine")
class Own(keras.layers.Layer):
    def call(self, x):
        if os.environ.get("NOW"):
            {body}
        return x
"""


def write_module(file, text):
    """Write a module, and drop compiled code of one as long that was written in the same second."""
    shutil.rmtree(file.parent / "__pycache__", ignore_errors=True)
    file.write_text(text)


@pytest.fixture(scope="module")
def place(tmp_path_factory, warm_python):
    """A model that is always right, for `tfaudit gate` to judge; its data is a function of the user's own."""
    place = tmp_path_factory.mktemp("ends")
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(3, use_bias=False)])
    model.layers[0].set_weights([10 * np.eye(3)])
    (place / "net.tflite").write_bytes(quantize(model, "float32"))
    (place / "layers.py").write_text(LAYER.format(body="pass"))
    save = "import keras, layers; keras.Sequential([keras.Input((3,)), layers.Own(), keras.layers.Dense(3)])"
    subprocess.run(
        [*warm_python, "-c", f"{save}.save('own.keras')"],
        cwd=place,
        check=True,
        capture_output=True,
    )
    (place / "data.py").write_text(LOAD.format(body="pass"))
    return place


@pytest.fixture
def gate(place, warm_python):
    """`gate(body, verdict)` judges data whose function begins with a statement, in a process of its own."""

    def run(body, verdict="pass", *, python=(), redirected=""):
        write_module(place / "own.py", LOAD.format(body=body))
        command = [*(python or warm_python), "-m", "tfaudit", "gate", *JUDGE, *LIMITS[verdict]]
        if redirected:
            command = ["bash", "-c", f'"$@" {redirected}', "bash", *command]
        return subprocess.run(
            command, cwd=place, capture_output=True, text=True, check=False, timeout=120
        )

    return run


@pytest.mark.slow
@pytest.mark.parametrize(
    "body", first_and_nightly(["os._exit(0)", "sys.exit(0)", "raise SystemExit", "1 / 0"])
)
def test_a_data_function_that_ends_the_process_is_one_line_and_no_pass(gate, body):
    done = gate(body)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (4, "", 1)
    assert done.stderr.startswith("tfaudit: --data: got '")
    assert "line 4 of own.py" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("verdict", VERDICTS)
def test_what_the_data_function_prints_is_not_among_the_results(gate, verdict):
    prints = {
        "python": "print('python')",
        "stream": "sys.__stdout__.write('stream')",
        "descriptor": "os.write(1, b'descriptor')",
        "subprocess": "subprocess.run(['echo', 'subprocess'])",
        "library": "ctypes.CDLL(None).puts(b'library')",
        "thread": "t = threading.Thread(target=print, args=['thread']); t.start(); t.join()",
        "at exit": "atexit.register(print, 'at exit')",
    }
    done = gate("; ".join(prints.values()), verdict)
    assert done.returncode == VERDICTS[verdict]
    assert json.loads(done.stdout)["verdicts"]["net"]["exit_code"] == VERDICTS[verdict]
    for name in prints:
        assert name in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("verdict", "body"),
    first_and_nightly(
        [
            ("fail", "threading.Thread(target=time.sleep, args=[300]).start()"),
            ("pass", "threading.Thread(target=os._exit, args=[1]).start()"),
            ("fail", "atexit.register(os._exit, 0)"),
            ("fail", "os.fork() or os._exit(0)"),
            ("fail", "threading.Thread(target=os._exit, args=[0]).start()"),
            ("pass", "threading.Thread(target=lambda: 1 / 0).start()"),
            ("pass", "os.fork() or sys.exit(1)"),
        ],
        always=2,
    ),
)
def test_the_exit_code_is_that_of_the_verdict_alone(gate, verdict, body):
    done = gate(body, verdict)
    assert done.returncode == VERDICTS[verdict], done.stderr
    assert json.loads(done.stdout)["verdicts"]["net"]["outcome"] == verdict


@pytest.mark.slow
def test_a_library_of_ray_that_aborts_after_python_has_ended_does_not_change_the_exit_code(gate):
    abort = "library = ctypes.CDLL(None); library.on_exit(library.abort, None); atexit.register(print, 'last')"
    done = gate(f"sys.modules['ray'] = sys; {abort}", python=(sys.executable,))
    assert done.returncode == 0
    assert "last" in done.stderr
    assert json.loads(done.stdout)["verdicts"]["net"]["outcome"] == "pass"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "cause"),
    [("sys.exit(0)", "SystemExit: 0"), ("os._exit(1)", "SystemExit: 1")],
)
@pytest.mark.parametrize("command", ["gate", "compare"])
def test_a_layer_that_ends_the_process_is_an_unexpected_error(
    place, warm_python, body, cause, command
):
    write_module(place / "layers.py", LAYER.format(body=body))
    sources = ("--baseline", "own.keras", "--compressed", "own.keras", "--data", "data.py:load")
    words = [*warm_python, "-m", "tfaudit", command, *sources, "--import", "layers.py"]
    environment = {"NOW": "1", "TF_CPP_MIN_LOG_LEVEL": "3"}
    done = subprocess.run(
        words, cwd=place, capture_output=True, text=True, check=False, env=environment
    )
    assert (done.returncode, done.stdout) == (3, "")
    *trace, last = done.stderr.splitlines()
    assert "Traceback (most recent call last):" in trace
    assert 'layers.py", line 7' in done.stderr
    assert last.startswith(f"tfaudit: unexpected error, {cause}")
    assert "nothing was judged; the traceback is above" in last


@pytest.mark.slow
def test_results_that_cannot_be_written_are_no_judgement(gate):
    done = gate("pass", "fail", redirected=">/dev/full")
    assert done.returncode == 4
    assert done.stderr.splitlines()[-1].startswith("tfaudit: standard output: got a place that")
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_a_reader_that_leaves_and_an_encoding_of_ascii_change_no_verdict(gate, monkeypatch):
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    done = gate("pass", "fail", redirected="2>&1 | true; exit ${PIPESTATUS[0]}")
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "")


def test_a_library_that_cannot_be_imported_is_no_fail(tmp_path):
    (tmp_path / "typer.py").write_text("raise ImportError('broken')")
    command = [sys.executable, "-m", "tfaudit", "gate", "--help"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 3
    assert done.stderr.splitlines()[-1].startswith(
        "tfaudit: unexpected error, ImportError: broken; exit code 3"
    )


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["gate", "nowhere"], 4),
        (["gate", "--no-such-option"], 4),
        (["gate", "study", "--max-flips", "many"], 4),
        (["gate", "--import", "no_such_module", "study"], 4),
        (["--import", "no_such_module", "compress", "net.keras"], 4),
        (["compress", "nowhere.keras", "--data", "digits"], 4),
        (["compress"], 4),
        (["audit", "nowhere"], 2),
        (["audit", "--no-such-option"], 2),
    ],
)
def test_bad_input_of_a_gate_is_not_cannot_judge(tfaudit, words, code):
    ended, text, errors = tfaudit(*words)
    assert (ended, text) == (code, "")
    assert errors


@pytest.mark.slow
def test_an_interrupt_of_the_data_function_is_neither_a_pass_nor_a_fail(gate):
    done = gate("raise KeyboardInterrupt")
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "tfaudit: interrupted\n")
