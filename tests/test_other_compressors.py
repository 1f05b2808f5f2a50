"""Files of other compressors, on the page on predictions: every section in its environment, up to a verdict."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.builders.nightly import and_nightly

DOCS = Path(__file__).parents[1] / "docs"
PAGE = (DOCS / "predictions.md").read_text()
PART = PAGE.partition("\n## Files of other compressors\n")[2]
FIRST, *SECTIONS = re.findall(r"^### .*?(?=^### |\Z)", PART, re.MULTILINE | re.DOTALL)
KERAS, *OTHERS = SECTIONS


def title(section):
    return section.splitlines()[0].removeprefix("### ")


def python_of(section):
    if included := re.search(r"```{literalinclude} (\S+)", section):
        return (DOCS / included[1]).read_text()
    return re.search(r"```python\n(.*?)```", section, re.DOTALL)[1]


@pytest.mark.slow
@pytest.mark.parametrize("section", and_nightly([KERAS], OTHERS), ids=title)
def test_the_gate_judges_what_the_compressor_made(warm_python, section, tmp_path):
    def run(*command, codes=(0,), **environment):
        done = subprocess.run(
            list(map(str, command)),
            cwd=tmp_path,
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode in codes, done.stdout + done.stderr
        return done.stdout

    own = python_of(section)
    if section is KERAS:
        run(*warm_python, "-c", python_of(FIRST) + own)
    else:
        run(*warm_python, "-c", python_of(FIRST))
    python = sys.executable
    for command in re.findall(r"^    ((?:pip|python|tfaudit) .*)$", section, re.MULTILINE):
        program, *arguments = shlex.split(command)
        if program == "pip":
            python = tmp_path / "own/bin/python"
            run(sys.executable, "-m", "uv", "venv", "--python", sys.executable, "own")
            run(sys.executable, "-m", "uv", "pip", *arguments, "--python", python)
        elif program == "python":
            (tmp_path / arguments[0]).write_text(own)
            run(python, *arguments, PYTHONPATH="")
        else:
            told = run(*warm_python, "-m", "tfaudit", *arguments, codes=(0, 1, 2))
            assert "overall drop" in told
