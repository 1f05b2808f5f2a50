"""`tfaudit view`: the viewer of a study, or of a folder of studies."""

from __future__ import annotations

import errno
import importlib
import itertools
import os
import socket
import sys
from pathlib import Path
from typing import Annotated

import typer

from tfaudit.cli.console import app, err, out
from tfaudit.errors import InputError

__all__ = ["view"]

FIRST_PORT = 8501

BUNDLED = "digits"
"""The recipe whose study is shown to those who have none; its images come with tfaudit's dependencies."""


@app.command()
def view(
    directory: Annotated[
        Path | None,
        typer.Argument(help="Directory of a study, or a folder of such; runs/digits by default, made if need be."),
    ] = None,
    port: Annotated[int | None, typer.Option(help="Port; by default the first free one from 8501.")] = None,
    address: Annotated[
        str, typer.Option(help="Whom to serve: this machine alone, or 0.0.0.0 for everybody who reaches it.")
    ] = "localhost",
) -> None:
    """Opens the viewer of a study in the browser."""
    from tfaudit.store.store import find_studies

    if directory is None:
        directory = Path("runs") / BUNDLED
        if not (directory / "report.html").exists():  # a run writes it last
            _make(directory)
    find_studies(directory)
    if port is None:
        port = next(each for each in itertools.count(FIRST_PORT) if _is_free(address, each))
    elif not _is_free(address, port):
        raise InputError(f"port: {port} is taken, or this user may not open it; another one, or none for a free one")
    viewer = Path(importlib.import_module("tfaudit.app").__path__[0]) / "viewer.py"
    options = {
        "server.port": port,
        "server.address": address,
        "server.showEmailPrompt": "false",
        "server.fileWatcherType": "none",
        "browser.gatherUsageStats": "false",  # predictions and images are nobody else's business
        "client.toolbarMode": "minimal",
        "global.disableWidgetStateDuplicationWarning": "true",  # a click in a chart sets what a widget also may
        "theme.light.primaryColor": "#8e4585",
        "theme.dark.primaryColor": "#c983c0",
    }
    flags = [f"--{name}={value}" for name, value in options.items()]
    command = [sys.executable, "-P", "-m", "tfaudit.app", "run", str(viewer), *flags, "--", str(directory)]
    out.file.flush()
    # -P: modules come from where they are installed, not from the folder in which somebody stands.
    os.execv(sys.executable, command)  # Streamlit in our place: it alone is interrupted, or ended from outside


def _make(directory: Path) -> None:
    """Runs the bundled study, with its progress; an interrupted run goes on where it was."""
    from tfaudit.cli.run import run

    err.print(f"no directory given: {directory} is made for you first, about a minute's work")
    run(BUNDLED, directory)


def _is_free(address: str, port: int) -> bool:
    if not 0 < port < 65536:
        raise InputError("port", str(port), "1 to 65535")
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(address or "-", port, type=socket.SOCK_STREAM)[0]
    except OSError:
        raise InputError(f"address: {address!r} is not known here; localhost, 0.0.0.0 or one of this machine") from None
    with socket.socket(family, kind, protocol) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(place)
        except OSError as problem:
            if problem.errno == errno.EADDRNOTAVAIL:
                raise InputError(f"address: {address!r} is none of this machine's") from None
            return False
    return True
