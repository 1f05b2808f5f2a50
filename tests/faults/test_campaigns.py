"""Campaigns of faults: every trial ends in a result or in one clear line.

Hostile files cause no traceback, hang, crash or gigabyte. A damaged file of a study never changes a result without a
word, whatever the damage, and another run mends it.
"""

import subprocess
from pathlib import Path

import pytest

from tests.builders.nightly import and_nightly, seeds
from tests.builders.trials import trials


@pytest.mark.slow
@pytest.mark.parametrize(
    ("campaign", "trials_made"),
    and_nightly(
        [("hostile_files", 32), ("damaged_stores", 3)],
        [
            ("hostile_files", trials(1500)),
            ("damaged_stores", trials(200)),
        ],
    ),
)
def test_every_trial_ends_in_a_result_or_in_one_line(warm_python, campaign, trials_made):
    numbers = seeds(trials_made)
    command = [
        *warm_python,
        "-m",
        f"tests.faults.{campaign}",
        str(numbers.start),
        str(numbers.stop),
    ]
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=Path(__file__).parents[2], check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    *problems, _, _, counts = done.stdout.splitlines()
    assert not problems
    print(counts)
