"""Hostile files of predictions end in predictions or in one clear line: no traceback, hang, crash or gigabyte."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

TRIALS = int(os.environ.get("TFAUDIT_TRIALS", "400"))
"""More find more: TFAUDIT_TRIALS=20000 takes a quarter of an hour."""


@pytest.mark.slow
def test_every_trial_ends_in_predictions_or_in_one_line():
    command = [sys.executable, "-m", "tests.faults.hostile_files", "0", str(TRIALS)]
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=Path(__file__).parents[2], timeout=60 + TRIALS, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout == ""
