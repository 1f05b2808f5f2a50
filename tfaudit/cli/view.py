"""`tfaudit view`: open the viewer of a study, or of a folder of studies."""

import contextlib
import errno
import importlib
import itertools
import json
import os
import socket
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from tfaudit.cli.console import app, err, option, out
from tfaudit.cli.gate_limits import GateFile, read_limits
from tfaudit.errors import InputError

FIRST_PORT = 8501

LOCAL = ("localhost", "127.0.0.1", "::1")
"""Addresses of this machine that no other machine reaches."""

BUNDLED = "digits"  # recipe of the study that is shown by default; its images come with scikit-learn


@app.command()
def view(
    directory: Annotated[
        Path | None,
        typer.Argument(
            help="Directory of a study, or of several; by default runs/digits, which is made if it is missing."
        ),
    ] = None,
    gate: GateFile = None,
    port: Annotated[int | None, option("Port; by default the first free port from 8501.")] = None,
    address: Annotated[
        str, option("Address to serve: localhost for this machine only, 0.0.0.0 for the network.")
    ] = "localhost",
    host: Annotated[
        list[str] | None, option("Another name under which browsers reach this machine, such as a proxy's; repeatable.")
    ] = None,
) -> None:
    """Open the viewer of a study in the browser."""
    from tfaudit.store.store import find_studies

    if directory is None:
        directory = Path("runs") / BUNDLED
        if not (directory / "report.html").exists():  # a run writes it last
            _make(directory)
    find_studies(directory)
    limits = json.dumps(read_limits(gate).as_dict())
    if port is None:
        port = next(candidate for candidate in itertools.count(FIRST_PORT) if _is_free(address, candidate))
    elif not _is_free(address, port):
        raise InputError("port", f"{port}, which is taken or not permitted", "another port, or none for a free one")
    viewer = Path(importlib.import_module("tfaudit.app").__path__[0]) / "viewer.py"
    if address not in LOCAL:
        err.print(
            f"tfaudit: the images and predictions of {directory} are open to everyone who reaches {address}:{port}",
        )
    # Everything that guards the study is set here: a `.streamlit/config.toml` in the working directory decides nothing.
    options = {
        "server.port": port,
        "server.address": address,
        "server.corsAllowedOrigins": f"http://localhost:{port}",
        "server.enableCORS": "true",
        "server.enableXsrfProtection": "true",
        "server.enableAgentApi": "false",
        "server.enableStaticServing": "false",
        "server.trustedUserHeaders": "{}",
        "server.showEmailPrompt": "false",
        "server.fileWatcherType": "none",
        "browser.gatherUsageStats": "false",  # predictions and images are private
        "client.toolbarMode": "minimal",
        "global.disableWidgetStateDuplicationWarning": "true",  # a click in a chart sets the value of a widget
        "theme.light.primaryColor": "#8e4585",
        "theme.dark.primaryColor": "#c983c0",
    }
    flags = [f"--{name}={value}" for name, value in options.items()]
    # A name that a foreign page points at this machine (DNS rebinding) is not served.
    flags += [f"--server.allowedHosts={name}" for name in _hosts(address, host or [])]
    command = [sys.executable, "-P", "-m", "tfaudit.app", "run", str(viewer), *flags, "--", str(directory), limits]
    out.file.flush()
    # -P: modules come from where they are installed, not from the working directory.
    os.execv(sys.executable, command)  # Streamlit replaces this process and so receives its signals


def _hosts(address: str, names: Sequence[str]) -> list[str]:
    """Return the names of this machine that a browser may ask for, of what is served at an address.

    Example:
        >>> _hosts("localhost", [])
        ['localhost', '127.0.0.1', '::1']
    """
    hosts = [*LOCAL, *names]
    if address in ("0.0.0.0", "::"):
        own = socket.gethostname()
        hosts += [own, socket.getfqdn()]
        with contextlib.suppress(OSError):
            hosts += [str(found[4][0]) for found in socket.getaddrinfo(own, None)]
    elif address not in LOCAL:
        hosts.append(address)
    return list(dict.fromkeys(hosts))


def _make(directory: Path) -> None:
    """Run the bundled study, or resume it."""
    from tfaudit.cli.run import run

    err.print(f"no directory: making {directory} first, which takes about a minute")
    run(BUNDLED, directory)


def _is_free(address: str, port: int) -> bool:
    if not 0 < port < 65536:
        raise InputError("port", str(port), "1 to 65535")
    unknown = InputError("address", repr(address), "localhost, 0.0.0.0 or an address of this machine")
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(address or "-", port, type=socket.SOCK_STREAM)[0]
    except OSError:
        raise unknown from None
    with socket.socket(family, kind, protocol) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(place)
        except OSError as error:
            if error.errno == errno.EADDRNOTAVAIL:
                raise unknown from None
            return False
    return True
