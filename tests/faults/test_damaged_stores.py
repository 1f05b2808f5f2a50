"""One damaged file never changes a result without a word, whatever the damage, and another run mends it."""

import subprocess
from pathlib import Path

import pytest

from tests.builders.nightly import and_nightly
from tests.builders.trials import trials


@pytest.mark.slow
@pytest.mark.parametrize("seeds", and_nightly([5], [trials(200)]))
def test_every_command_tells_of_a_damaged_file_or_ends_as_without(warm_python, seeds):
    command = [*warm_python, "-m", "tests.faults.damaged_stores", "0", str(seeds)]
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=Path(__file__).parents[2], check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    *problems, counts = done.stdout.splitlines()
    assert not problems
    assert "damaged stores" in counts
