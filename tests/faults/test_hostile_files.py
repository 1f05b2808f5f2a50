"""Hostile files end in a result or in one clear line: no traceback, hang, crash or gigabyte."""

import subprocess
from pathlib import Path

import pytest

from tests.builders.nightly import and_nightly
from tests.builders.trials import trials


@pytest.mark.slow
@pytest.mark.parametrize("seeds", and_nightly([48], [trials(1500)]))
def test_every_trial_ends_in_a_result_or_in_one_line(warm_python, seeds):
    command = [*warm_python, "-m", "tests.faults.hostile_files", "0", str(seeds)]
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=Path(__file__).parents[2], check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    *problems, counts = done.stdout.splitlines()
    assert not problems
    assert "hostile files" in counts
