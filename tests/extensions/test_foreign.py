"""The package that CONTRIBUTING shows is installed, and seen wherever it adds something."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

PAGE = (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text()

PROGRAM = """
import sys
sys.modules |= dict.fromkeys(("tensorflow", "keras", "vl_convert"))  # take long, and nothing here needs them
from streamlit.testing.v1 import AppTest
from tests.builders.pages import draw
from typer.testing import CliRunner
from tfaudit.cli import app

def run(words, code=0):
    done = CliRunner().invoke(app, words.split(), catch_exceptions=False)
    assert done.exit_code == code, (words, done.output)
    return " ".join(done.output.split())

files = "--baseline before.npy --compressed small=after.npy --labels labels.npy"
assert "Print by how much the share of a class rises." in run("--help")
assert "crowding" in run("doctor")
run(f"audit {files} --out study")
told = "small: the share of a class rises by up to 8.4 points."
assert told in run("crowding study")
run("report study")
page = open("study/report.html").read()
assert 'id="crowding"' in page and told in page
assert "--lines" in run("gate --help")
run("gate study --lines lines.txt", code=1)
assert open("lines.txt").read() == "small fail\\n"
from tfaudit import Quantized, Study, Training
from tfaudit.study.variants import VARIANTS
half = VARIANTS["half"]()
assert half.title == Quantized("half").title == "half precision"
study = Study(name="s", dataset="digits", model="digits_convnet", training=Training(epochs=1), variants=[half])
assert Study.from_json(study.to_json()).variants[-1] == half
shown = AppTest.from_function(draw, args=("study", "crowding"), default_timeout=60).run()
assert not shown.exception and not shown.error
assert told.replace("small: ", "") in str([part.value for part in shown.markdown])
"""


@pytest.mark.slow
def test_a_package_of_others_is_seen_everywhere(tmp_path):
    for name in ("extension", "audit", "half"):
        code = re.search(rf"`crowding/{name}.py`:\n\n```python\n(.*?)```", PAGE, re.DOTALL)[1]
        (tmp_path / "crowding").mkdir(exist_ok=True)
        (tmp_path / f"crowding/{name}.py").write_text(code)
    installed = tmp_path / "crowding-1.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: crowding\nVersion: 1\n")
    points = re.search(r"\[project.entry-points.\"(.*?)\"\]\n(.*?)\n", PAGE)
    line = points[2].replace('"', "")
    (installed / "entry_points.txt").write_text(f"[{points[1]}]\n{line}\n")
    labels = np.arange(2000) % 4
    after = np.where((labels == 3) & (np.arange(2000) % 3 == 0), 0, labels)
    for file, values in {"labels": labels, "before": labels, "after": after}.items():
        np.save(tmp_path / f"{file}.npy", values if file == "labels" else np.eye(4)[values])
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", ""), *sys.path])
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
