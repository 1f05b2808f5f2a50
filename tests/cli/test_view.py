"""`tfaudit view`: what it opens, and what it says when it cannot."""

import json
import os
import re
import socket
from pathlib import Path

import pytest
import typer

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


def test_without_a_directory_the_digits_study_is_made_once(monkeypatch, viewer, commands):
    made = []

    def run(recipe, place):
        made.append((recipe, make_study(place).directory))
        if len(made) == 1:
            raise typer.Exit(130)  # as `tfaudit run` ends when it is interrupted
        (place / "report.html").touch()

    monkeypatch.setattr("tfaudit.cli.run.run", run)
    viewer(code=130)
    told = viewer()
    assert made == [("digits", Path("runs/digits"))] * 2
    assert "making runs/digits first" in told
    viewer()
    assert len(made) == 2
    assert [settings(command)["directory"] for command in commands] == [
        str(Path("runs/digits").absolute())
    ] * 2


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
    for options in (["--example"], ["--example", "--port", "8765"]):  # the first one is meant
        viewer(*options)
    assert {settings(command)["directory"] for command in commands} == {str(place)}
    assert settings(commands[-1])["port"] == 8765


def test_an_example_that_there_is_not_and_one_beside_a_directory_are_one_line(viewer):
    (name, *_) = example_studies()
    told = viewer("--example", "nothing", code=2)
    assert f"example: got nothing, expected {name}" in told
    told = viewer("folder", "--example", name, code=2)
    assert "directory: got folder and --example, expected one of the two" in told


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


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (
            [],
            "everyone who reaches .*:8.*audits are cached in.*--password asks.*--read-only writes",
        ),
        (
            ["--password"],
            "everyone who knows the password and reaches .*audits are cached in.*  --read-only writes",
        ),
        (
            ["--password", "--read-only"],
            "everyone who knows .*the connection is not encrypted; no file is written$",
        ),
    ],
)
def test_another_address_says_what_it_exposes(monkeypatch, viewer, commands, options, says):
    make_study(Path("study"))
    monkeypatch.setenv("TFAUDIT_PASSWORD", "correct horse")
    told = viewer("study", "--address", "0.0.0.0", *options)
    assert re.search(says, told.strip().replace("\n", ""))
    assert settings(commands[0])["read_only"] == ("--read-only" in options)
    assert not viewer("study", *options)


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


@pytest.mark.parametrize("typed", [["correct horse"] * 2, ["correct horse", "correct house"]])
def test_a_password_is_typed_twice(monkeypatch, viewer, typed):
    make_study(Path("study"))
    monkeypatch.delenv("TFAUDIT_PASSWORD", raising=False)
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    answers = iter(typed)
    monkeypatch.setattr("getpass.getpass", lambda prompt: next(answers))
    told = viewer("study", "--password", code=0 if len(set(typed)) == 1 else 2)
    assert ("the same password twice" in told) == (len(set(typed)) == 2)


def test_limits_of_a_gate_reach_the_viewer(viewer, commands, tmp_path):
    make_study(tmp_path / "study")
    (tmp_path / "gate.toml").write_text("[gate]\nflips = 0.02\n")
    viewer("study", "--gate", "gate.toml")
    assert settings(commands[0])["limits"] == {"flips": 0.02}
    (tmp_path / "gate.toml").write_text("[other]\n")
    viewer("study", "--gate", "gate.toml", code=2)
    assert len(commands) == 1
