"""Hostile files end in a result or in one clear line: no traceback, hang, crash or gigabyte."""

import subprocess
from pathlib import Path

import pytest

from tests.builders.trials import trials


@pytest.mark.slow
def test_every_trial_ends_in_a_result_or_in_one_line(warm_python):
    command = [*warm_python, "-m", "tests.faults.hostile_files", "0", str(trials(144))]
    done = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[2], check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    *problems, counts = done.stdout.splitlines()
    assert not problems
    assert "hostile files" in counts
