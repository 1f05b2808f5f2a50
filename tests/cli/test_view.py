"""`tfaudit view`: what it opens, and what it says when it cannot."""

import json
import os
import socket
from pathlib import Path

import pytest

from tests.builders.studies import make_study
from tfaudit.analysis.stored_images import picture_format
from tfaudit.cli.example_studies import example_studies
from tfaudit.store.store import open_store


@pytest.fixture
def viewer(tfaudit, commands):
    """`viewer(*arguments, code=0)` is `tfaudit view` in an empty folder; returns what it says on standard error."""

    def view(*arguments, code=0):
        found, _, errors = tfaudit("view", *arguments)
        assert found == code, errors
        return errors

    return view


@pytest.fixture
def commands(monkeypatch, tfaudit):
    """What would be started in the place of this process; the working directory is empty."""
    found = []
    monkeypatch.setenv("TFAUDIT_PASSWORD", "")
    monkeypatch.setattr(os, "execv", lambda program, command: found.append(command))
    return found


def settings(command):
    assert command[1:4] == ["-P", "-m", "tfaudit.app"]
    return json.loads(command[4])


def test_an_example_that_comes_with_the_package_is_unpacked_once(viewer, commands):
    (name, *_) = example_studies()
    for _ in range(2):
        viewer("--example", name)
    place = Path(f"runs/{name}_example").absolute()
    assert [settings(command)["directory"] for command in commands] == [str(place)] * 2
    assert [path.name for path in Path("runs").iterdir()] == [f"{name}_example"]
    store = open_store(place)
    assert not store.missing()
    assert all(
        not store.damage(key, member) for key in store.variants for member in store.members(key)
    )
    assert picture_format(max(store.images("test", range(100)))) == "webp"
    assert "763 examples whose prediction changes" in " ".join(store.remarks())
    with socket.socket() as probe:
        probe.bind(("localhost", 0))
        port = probe.getsockname()[1]
    for options in (["--example"], ["--example", "--port", str(port)]):  # the first one is meant
        viewer(*options)
    assert {settings(command)["directory"] for command in commands} == {str(place)}
    assert settings(commands[-1])["port"] == port


def test_only_this_machine_is_served_unless_told_otherwise(viewer, commands):
    make_study(Path("folder/first"))
    viewer("folder")
    viewer("folder", "--address", "0.0.0.0")
    assert [settings(command)["address"] for command in commands] == ["localhost", "0.0.0.0"]
    hosts = [settings(command)["hosts"] for command in commands]
    assert hosts[0] == ["localhost", "127.0.0.1", "::1"]
    assert socket.gethostname() in hosts[1]
    assert "*" not in hosts[1]


@pytest.mark.parametrize("place", ["nowhere", "."])
def test_a_directory_without_a_study_is_one_line(viewer, place):
    assert viewer(place, code=2) == (
        f"tfaudit: directory: got {place}, which holds no study, nor do its folders (no study.json), expected a study; "
        "`tfaudit run RECIPE --out DIR` makes one\n"
    )


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("--port", "0", "port: got 0, expected 1 to 65535"),
        ("--port", "65536", "port: got 65536, expected 1 to 65535"),
        ("--port", "taken", "which is taken or not permitted, expected another port"),
        ("--address", "", "address: got '', expected localhost, 0.0.0.0 or"),
        ("--address", "no.such.host.invalid", "address: got 'no.such.host.invalid', expected"),
        ("--address", "203.0.113.1", "address: got '203.0.113.1', expected localhost"),
    ],
)
def test_a_place_that_cannot_be_served_is_one_line(viewer, commands, option, value, words):
    make_study(Path("study"))
    with socket.socket() as other:
        other.bind(("localhost", 0))
        other.listen()
        taken = str(other.getsockname()[1])
        told = viewer("study", option, taken if value == "taken" else value, code=2)
    assert words in told
    assert told.count("\n") == 1
    assert not commands


def test_the_password_is_no_argument(monkeypatch, viewer, commands):
    make_study(Path("study"))
    monkeypatch.setenv("TFAUDIT_PASSWORD", "correct horse")
    viewer("study", "--password")
    assert "horse" not in str(commands)
    assert os.environ["TFAUDIT_PASSWORD"] == "correct horse"
    viewer("study")
    assert not os.environ["TFAUDIT_PASSWORD"]  # a viewer that was not told to ask does not
    monkeypatch.setenv("TFAUDIT_PASSWORD", "short")
    told = viewer("study", "--password", code=2)
    assert "password: got 5 characters, expected 8 or more in the environment" in told
    monkeypatch.delenv("TFAUDIT_PASSWORD")
    monkeypatch.setattr("sys.stdin.isatty", lambda: False)
    told = viewer("study", "--password", code=2)
    assert "password: got no password, and no terminal to type it in, expected" in told
