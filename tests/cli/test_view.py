"""`tfaudit view`: what it opens, and what it says when it cannot."""

import socket
import subprocess
import sys

import pytest

from tests.report.conftest import make_study


def view(*arguments, cwd=None):
    command = [sys.executable, "-m", "tfaudit.cli", "view", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, timeout=60)


@pytest.mark.parametrize("place", ["nowhere", "."])
def test_a_directory_without_a_study_is_one_line(tmp_path, place):
    done = view(place, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.splitlines() == [
        f"tfaudit: directory: {place} holds no study, nor do its folders (no study.json); "
        "`tfaudit run RECIPE --out DIR` makes one"
    ]


@pytest.mark.parametrize("port", ["0", "65536", "taken"])
def test_a_port_that_cannot_be_had_is_one_line(tmp_path, port):
    make_study(tmp_path)
    with socket.socket() as other:
        other.bind(("localhost", 0))
        other.listen()
        done = view(tmp_path, "--port", other.getsockname()[1] if port == "taken" else port)
    assert done.returncode == 2
    assert done.stderr.startswith("tfaudit: port: ")
    assert len(done.stderr.strip().splitlines()) == 1
