"""The action for GitHub: its steps, run by hand as the runner runs them."""

import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest
import yaml

ACTION = yaml.safe_load((Path(__file__).parents[1] / "action.yml").read_text())


def test_the_workflow_of_the_documentation_uses_inputs_of_the_action():
    page = (Path(__file__).parents[1] / "docs/shipping.md").read_text()
    workflow = yaml.safe_load(re.search(r"```yaml\n(.*?)```", page, re.DOTALL)[1])
    checkout, gate = workflow["jobs"]["gate"]["steps"]
    assert re.fullmatch(r"actions/checkout@v\d+", checkout["uses"])
    assert set(gate["with"]) <= set(ACTION["inputs"])


def run_gate(folder, **inputs):
    """Run the step that judges, with the inputs in its environment."""
    (step,) = (step for step in ACTION["runs"]["steps"] if step.get("id") == "gate")
    given = {
        name: setting.get("default", "") for name, setting in ACTION["inputs"].items()
    } | inputs
    environment = {**os.environ, "GITHUB_OUTPUT": "outputs", "GITHUB_STEP_SUMMARY": "summary.md"}
    environment["PATH"] = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    for name, value in step["env"].items():
        name_of_input = value.removeprefix("${{ inputs.").removesuffix(" }}")
        environment[name] = given.get(name_of_input, str(folder / "out"))
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


@pytest.fixture
def predictions(tmp_path):
    labels = np.arange(2000) % 4
    np.save(tmp_path / "y.npy", labels)
    np.save(tmp_path / "a b.npy", np.eye(4)[labels])
    np.save(tmp_path / "c.npy", np.eye(4)[np.where(labels == 3, 0, labels)])
    return tmp_path


@pytest.mark.slow
def test_the_step_judges_and_writes_every_file(predictions):
    (predictions / "gate.toml").write_text("[gate]\nworst_class_drop_pp = 5\n")
    done = run_gate(
        predictions,
        baseline="a b.npy",
        compressed="c.npy",
        gate="gate.toml",
        arguments="--labels y.npy",
    )
    assert done.returncode == 1, done.stderr
    out = predictions / "out"
    assert (predictions / "outputs").read_text() == f"folder={out}\ncode=1\n"
    assert "class 3" in (predictions / "summary.md").read_text()
    assert "class 3" in (out / "gate.md").read_text()
    assert ET.parse(out / "gate.xml").getroot().get("failures") == "1"
    assert json.loads((out / "gate.sarif").read_text())["runs"][0]["results"][0]["level"] == "error"
    (verdict,) = json.loads((out / "gate.json").read_text())["verdicts"].values()
    assert verdict["outcome"] == "fail"
    same = run_gate(
        predictions,
        baseline="a b.npy",
        compressed="a b.npy",
        arguments="--labels y.npy --alpha 0.1",
    )
    assert same.returncode == 0, same.stderr
    nowhere = run_gate(
        predictions, baseline="nowhere.npy", compressed="c.npy", arguments="--labels y.npy"
    )
    assert nowhere.returncode == 4, nowhere.stderr
    assert (predictions / "outputs").read_text().splitlines()[-1] == "code=4"
