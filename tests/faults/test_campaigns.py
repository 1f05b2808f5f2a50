"""Campaigns of faults: every trial ends in a result or in one clear line.

Hostile files cause no traceback, hang, crash or gigabyte. A damaged file of a study never changes a result without a
word, whatever the damage, and another run mends it.
"""

import subprocess
from pathlib import Path

import pytest

from tests.builders.nightly import and_nightly
from tests.builders.trials import trials


@pytest.mark.slow
@pytest.mark.parametrize(
    ("campaign", "seeds"),
    and_nightly(
        [("hostile_files", 48), ("damaged_stores", 5)],
        [("hostile_files", trials(1500)), ("damaged_stores", trials(200))],
    ),
)
def test_every_trial_ends_in_a_result_or_in_one_line(warm_python, campaign, seeds):
    command = [*warm_python, "-m", f"tests.faults.{campaign}", "0", str(seeds)]
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=Path(__file__).parents[2], check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    *problems, counts = done.stdout.splitlines()
    assert not problems
    assert campaign.replace("_", " ") in counts
