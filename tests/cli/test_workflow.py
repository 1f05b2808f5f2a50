"""The GitHub workflow of docs/shipping.md: every step, run on a small model and a folder of images."""

import importlib.metadata
import re
import shlex
import sys
from pathlib import Path

import keras
import numpy as np
import pytest
from PIL import Image

import tfaudit
from tfaudit.cli import main

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def steps():
    yaml = pytest.importorskip("yaml")
    page = (ROOT / "docs/shipping.md").read_text()
    workflow = yaml.safe_load(re.search(r"```yaml\n(.*?)```", page, re.DOTALL)[1])
    assert workflow[True] == ["pull_request"]  # YAML 1.1 reads `on` as true
    return workflow["jobs"]["gate"]["steps"]


def test_the_workflow_takes_a_python_that_is_declared_and_an_extra_that_exists(steps):
    checkout, python, install, gate = steps
    assert re.fullmatch(r"actions/checkout@v\d+", checkout["uses"])
    assert re.fullmatch(r"actions/setup-python@v\d+", python["uses"])
    declared = (ROOT / "pyproject.toml").read_text()
    assert f'"Programming Language :: Python :: {python["with"]["python-version"]}"' in declared
    command, verb, what = shlex.split(install["run"])
    assert (command, verb) == ("pip", "install")
    (extra,) = re.fullmatch(
        r"tfaudit\[(\w+)\] @ git\+https://github\.com/OWNER/tfaudit", what
    ).groups()
    assert extra in importlib.metadata.metadata("tfaudit").get_all("Provides-Extra")
    assert gate["run"].startswith("tfaudit gate ")


@pytest.mark.slow
def test_its_gate_judges_writes_junit_and_the_page_of_the_job(steps, tmp_path, monkeypatch, capsys):
    """Class 1 is brighter than class 0; one compressed model is the same, another is blind to class 1."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    for name, brightness in (("dark", 60), ("light", 190)):
        (tmp_path / "images" / name).mkdir(parents=True)
        for i in range(100):
            pixels = rng.normal(brightness, 10, (4, 4)).clip(0, 255).astype(np.uint8)
            Image.fromarray(pixels).save(tmp_path / "images" / name / f"{i}.png")
    layers = [keras.layers.Rescaling(1 / 255), keras.layers.Flatten(), keras.layers.Dense(2)]
    model = keras.Sequential([keras.Input((4, 4, 1)), *layers])
    sees = np.tile([[-1.0, 1.0]], (16, 1)) / 16
    model.layers[-1].set_weights([sees, np.array([0.5, -0.5])])
    model.save("float.keras")
    Path("gate.toml").write_text("[gate]\noverall_drop_pp = 2\nworst_class_drop_pp = 10\n")
    command = shlex.split(steps[-1]["run"])
    monkeypatch.setattr(sys, "argv", command)
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    for bias, code, mark in (((0.5, -0.5), 0, "✅ pass"), ((5.0, -5.0), 1, "❌ FAIL")):
        model.layers[-1].set_weights([sees, np.array(bias)])
        Path("int8.tflite").write_bytes(tfaudit.quantize(model, "float16"))
        with pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code == code, capsys.readouterr()
        assert mark in Path("summary.md").read_text()
        assert ("<failure" in Path("gate.xml").read_text()) == bool(code)
