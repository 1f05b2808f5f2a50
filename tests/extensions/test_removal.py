"""Each extension can be deleted with its line in the list: commands run without it.

`tests/test_house.py` tests that no other module imports what is gone.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from tfaudit.extensions import OURS

ROOT = Path(__file__).parents[2]

PROGRAM = """
import sys
sys.modules |= dict.fromkeys(("tensorflow", "keras", "vl_convert"))  # take long, and nothing here needs them
import tfaudit
assert tfaudit.__file__.startswith(sys.argv[2])
from typer.testing import CliRunner
from tfaudit.cli import app
from tfaudit.extensions import extensions

gone, code = sys.argv[1], 0
assert gone not in [extension.name for extension in extensions()]
files = "--baseline before.npy --compressed small=after.npy --labels labels.npy"
for words in ("--help", "doctor", f"audit {files} --out study", "gate study", "report study"):
    done = CliRunner().invoke(app, words.split(), catch_exceptions=False)
    assert done.exit_code == (words == "gate study"), (words, done.output)
assert "class 3" in open("study/report.html").read()
"""


@pytest.mark.parametrize("name", sorted({*OURS} - {"search", "slices"}))
def test_only_its_own_tests_import_an_extension(name):
    own = ROOT / "tests/extensions" / name
    for place in ROOT.glob("tests/**/*.py"):
        if own not in place.parents and place != Path(__file__):
            assert not re.search(
                rf"(from|import) tfaudit\.extensions\.{name}\b", place.read_text()
            ), place


@pytest.mark.slow
@pytest.mark.parametrize("name", OURS)
def test_without_an_extension_commands_run(warm_python, name, tmp_path):
    for folder in ("tfaudit", "app", "recipes"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    (tmp_path / "tfaudit/app").symlink_to(tmp_path / "app")  # wins over an installation to edit
    (tmp_path / "tfaudit/recipes").symlink_to(tmp_path / "recipes")
    shutil.rmtree(tmp_path / "tfaudit/extensions" / name)
    listed = tmp_path / "tfaudit/extensions/__init__.py"
    line = f'    "{name}",\n'
    assert listed.read_text().count(line) == 1
    listed.write_text(listed.read_text().replace(line, ""))
    labels = np.arange(2000) % 4
    after = np.where((labels == 3) & (np.arange(2000) % 3 == 0), 0, labels)
    for file, values in {"labels": labels, "before": labels, "after": after}.items():
        np.save(tmp_path / f"{file}.npy", values if file == "labels" else np.eye(4)[values])
    done = subprocess.run(
        [*warm_python, "-c", PROGRAM, name, str(tmp_path)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
