"""`tfaudit view`: what it opens, and what it says when it cannot."""

import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
import typer

from tests.builders.studies import make_study
from tfaudit.cli import main


def view(*arguments, cwd=None):
    command = [sys.executable, "-m", "tfaudit.cli", "view", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, timeout=60)


@pytest.mark.slow
@pytest.mark.parametrize("place", ["nowhere", "."])
def test_a_directory_without_a_study_is_one_line(tmp_path, place):
    done = view(place, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.splitlines() == [
        f"tfaudit: directory: got {place}, which holds no study, nor do its folders (no study.json), expected a study; "
        "`tfaudit run RECIPE --out DIR` makes one"
    ]


@pytest.mark.slow
@pytest.mark.parametrize("port", ["0", "65536", "taken"])
def test_a_port_that_cannot_be_had_is_one_line(tmp_path, port):
    make_study(tmp_path)
    with socket.socket() as other:
        other.bind(("localhost", 0))
        other.listen()
        done = view(tmp_path, "--port", other.getsockname()[1] if port == "taken" else port)
    assert done.returncode == 2
    assert done.stderr.startswith("tfaudit: port: got ")
    assert len(done.stderr.strip().splitlines()) == 1


@pytest.fixture
def commands(monkeypatch, tmp_path):
    """What would be started in the place of this process; the working directory is empty."""
    found = []
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "execv", lambda program, command: found.append(command))
    return found


def main_view(monkeypatch, *arguments, code=0):
    monkeypatch.setattr("sys.argv", ["tfaudit", "view", *arguments])
    with pytest.raises(SystemExit) as left:
        main()
    assert (left.value.code or 0) == code


def test_without_a_directory_the_digits_study_is_made_once(monkeypatch, commands, capsys):
    made = []

    def run(recipe, place):
        made.append((recipe, make_study(place).directory))
        if len(made) == 1:
            raise typer.Exit(130)  # as `tfaudit run` ends when it is interrupted
        (place / "report.html").touch()

    monkeypatch.setattr("tfaudit.cli.run.run", run)
    main_view(monkeypatch, code=130)
    main_view(monkeypatch)
    assert made == [("digits", Path("runs/digits"))] * 2
    assert "making runs/digits first" in capsys.readouterr().err
    main_view(monkeypatch)
    assert len(made) == 2
    assert [command[-2] for command in commands] == ["runs/digits"] * 2


def test_only_this_machine_is_served_unless_told_otherwise(monkeypatch, commands):
    make_study(Path("folder/first"))
    main_view(monkeypatch, "folder")
    main_view(monkeypatch, "folder", "--address", "0.0.0.0")
    assert [word for command in commands for word in command if "address" in word] == [
        "--server.address=localhost",
        "--server.address=0.0.0.0",
    ]
    hosts = [[word.split("=")[1] for word in command if "allowedHosts" in word] for command in commands]
    assert hosts[0] == ["localhost", "127.0.0.1", "::1"]
    assert socket.gethostname() in hosts[1]
    assert "*" not in hosts[1]
    assert all(Path(command[5]).name == "viewer.py" for command in commands)


@pytest.mark.slow
@pytest.mark.parametrize("address", ["", "no.such.host.invalid", "203.0.113.1"])
def test_an_address_that_is_not_ours_is_one_line(tmp_path, address):
    make_study(tmp_path)
    done = view(tmp_path, "--address", address)
    assert done.returncode == 2
    assert done.stderr.startswith(f"tfaudit: address: got {address!r}, expected localhost, 0.0.0.0 or")
    assert len(done.stderr.strip().splitlines()) == 1


def answer(port, path, headers):
    """The first line that the server answers to a request."""
    lines = [f"GET {path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items()), "", ""]
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        connection.sendall("\r\n".join(lines).encode())
        return connection.recv(4096).decode().splitlines()[0]


@pytest.mark.slow
def test_a_foreign_page_gets_nothing_whatever_the_working_directory_says(tmp_path):
    """DNS rebinding: a foreign name points at this machine, so that Host and Origin agree and are both foreign."""
    make_study(tmp_path / "study")
    (tmp_path / ".streamlit").mkdir()
    (tmp_path / ".streamlit/config.toml").write_text(
        '[server]\nenableCORS = false\nenableXsrfProtection = false\nallowedHosts = ["*"]\n'
        'enableAgentApi = true\ncorsAllowedOrigins = ["http://evil.example"]\n'
    )
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "tfaudit.cli", "view", "study", "--port", str(port)]
    upgrade = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13"}
    upgrade |= {"Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Protocol": "streamlit"}
    server = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(200):
            try:
                if "200" in answer(port, "/_stcore/health", {"Host": f"localhost:{port}", "Connection": "close"}):
                    break
            except OSError:
                time.sleep(0.2)
        own, foreign = f"localhost:{port}", f"evil.example:{port}"
        for host, origin, allowed in ((own, own, True), (foreign, foreign, False), (own, foreign, False)):
            line = answer(port, "/_stcore/stream", upgrade | {"Host": host, "Origin": f"http://{origin}"})
            assert ("101" in line) == allowed, (host, origin, line)
    finally:
        server.terminate()
        server.wait(20)


def test_limits_of_a_gate_reach_the_viewer(monkeypatch, commands, tmp_path):
    make_study(tmp_path / "study")
    (tmp_path / "gate.toml").write_text("[gate]\nflips = 0.02\n")
    main_view(monkeypatch, "study", "--gate", "gate.toml")
    assert json.loads(commands[0][-1]) == {"flips": 0.02}
    (tmp_path / "gate.toml").write_text("[other]\n")
    main_view(monkeypatch, "study", "--gate", "gate.toml", code=2)
    assert len(commands) == 1
