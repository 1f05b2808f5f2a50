"""`tfaudit view`: open the viewer of a study, or of a folder of studies."""

import contextlib
import errno
import getpass
import importlib.util
import itertools
import json
import os
import socket
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from tfaudit.app.server import PASSWORD
from tfaudit.cli.console import app, err, out
from tfaudit.cli.example_studies import example_studies, unpack_example
from tfaudit.cli.flags import FlagCommand
from tfaudit.cli.gate_limits import GateFile, read_limits
from tfaudit.cli.options import option
from tfaudit.errors import InputError

FIRST_PORT = 8501

LOCAL = ("localhost", "127.0.0.1", "::1")
"""Addresses of this machine that no other machine reaches."""

SHORTEST = 8  # characters of a password

# Recipe of the study that is shown by default; its images come with scikit-learn.
BUNDLED = "digits"


# Not a `Command`: the server, which replaces this process, prints its address.
class ViewCommand(FlagCommand):
    """`tfaudit view`, whose `--example` may stand without a name: the first example is meant."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments, with the name of the first example after an `--example` that has none."""
        named: list[str] = []
        for argument, following in itertools.zip_longest(args, args[1:], fillvalue="-"):
            named.append(argument)
            if argument == "--example" and following.startswith("-"):
                named.append(next(iter(example_studies())))
        return super().parse_args(ctx, named)


@app.command(cls=ViewCommand)
def view(
    directory: Annotated[
        Path | None,
        typer.Argument(
            help="Directory of a study, of several, or of compared outcomes; by default runs/digits, which is made if "
            "it is missing."
        ),
    ] = None,
    example: Annotated[
        str | None,
        option(
            "A finished study that comes with the package, copied to runs/NAME_example: NAME, by default the first, "
            f"is one of {', '.join(example_studies())}."
        ),
    ] = None,
    gate: GateFile = None,
    port: Annotated[int | None, option("Port; by default the first free port from 8501.")] = None,
    address: Annotated[
        str, option("Address to serve: localhost for this machine only, 0.0.0.0 for the network.")
    ] = "localhost",
    host: Annotated[
        list[str] | None,
        option(
            "Another name under which browsers reach this machine, such as a proxy's; repeatable."
        ),
    ] = None,
    password: Annotated[
        bool,
        option(
            f"Ask visitors for a password, which is read from {PASSWORD} in the environment or typed here."
        ),
    ] = False,
    read_only: Annotated[
        bool,
        option("Write no file, not even a cached audit."),
    ] = False,
) -> None:
    """Open the viewer of a study in the browser.

    Example: tfaudit view runs/digits
    """
    from tfaudit.outlets.outcome_folder import is_outcome_folder
    from tfaudit.store.store import find_studies

    # Before a study is made and before the server replaces this process.
    if importlib.util.find_spec("streamlit") is None:
        raise ModuleNotFoundError(name="streamlit")
    if example is not None:
        if directory is not None:
            raise InputError("directory", f"{directory} and --example", "one of the two")
        directory = unpack_example(example, Path("runs"))
    elif directory is None:
        directory = Path("runs") / BUNDLED
        if not (directory / "report.html").exists():  # a run writes it last
            from tfaudit.cli.run import run

            err.print(f"no directory: making {directory} first, which takes about a minute")
            run(BUNDLED, directory)
    if not is_outcome_folder(directory):
        find_studies(directory)
    limits = read_limits(gate).settings()
    if port is None:
        port = next(free for free in itertools.count(FIRST_PORT) if _is_free(address, free))
    elif not _is_free(address, port):
        got = f"{port}, which is taken or not permitted"
        raise InputError("port", got, "another port, or no --port for a free one")
    hosts = _hosts(address, host or [])
    os.environ[PASSWORD] = _read_password() if password else ""
    if address not in LOCAL:
        told = _exposed(directory, hosts, port, password=password, read_only=read_only)
        err.tell(told)
    settings = {
        "directory": str(directory.absolute()),
        "limits": limits,
        "read_only": read_only,
        "address": address,
        "port": port,
        "hosts": hosts,
    }
    out.file.flush()
    # -P: modules come from where they are installed, not from the working directory.
    command = [sys.executable, "-P", "-m", "tfaudit.app", json.dumps(settings)]
    # The server replaces this process and so receives its signals.
    os.execv(sys.executable, command)


def _read_password() -> str:
    """Return the password from the environment, or ask for it twice."""
    password = os.environ.get(PASSWORD)
    source = f"the environment variable {PASSWORD}"
    if password is None:
        if not sys.stdin.isatty():
            raise InputError("password", "no password, and no terminal to type it in", source)
        source = "a password"
        password = getpass.getpass("Password of the viewer: ")
        if getpass.getpass("Again: ") != password:
            raise InputError("password", "two different passwords", "the same password twice")
    if len(password) < SHORTEST:
        raise InputError(
            "password", f"{len(password)} characters", f"{SHORTEST} or more in {source}"
        )
    return password


def _exposed(
    directory: Path, hosts: Sequence[str], port: int, *, password: bool, read_only: bool
) -> str:
    """Return what others can see and do, under which addresses, and how to keep them from it.

    Example:
        >>> print(_exposed(Path("runs"), ["localhost", "lab"], 8501, password=False, read_only=False))
        tfaudit: everyone who reaches lab:8501 can see the images, classes and predictions of runs
          the connection is not encrypted; audits are cached in runs
          --password asks visitors for a password; --read-only writes no file
    """
    names = (f"[{host}]" if ":" in host else host for host in hosts if host not in LOCAL)
    places = ", ".join(f"{name}:{port}" for name in names)
    who = "everyone who knows the password and reaches" if password else "everyone who reaches"
    sees = "images, classes and predictions"
    writes = "no file is written" if read_only else f"audits are cached in {directory}"
    offers = {
        "--password asks visitors for a password": not password,
        "--read-only writes no file": not read_only,
    }
    lines = [
        f"tfaudit: {who} {places} can see the {sees} of {directory}",
        f"the connection is not encrypted; {writes}",
        "; ".join(offer for offer, is_open in offers.items() if is_open),
    ]
    return "\n  ".join(filter(None, lines))


def _hosts(address: str, names: Sequence[str]) -> list[str]:
    """Return the names of this machine by which a browser may reach a server at an address.

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
        with contextlib.suppress(OSError), socket.socket(type=socket.SOCK_DGRAM) as unsent:
            unsent.connect(
                ("192.0.2.1", 1)
            )  # sends nothing; the system chooses the address it would send from
            hosts.append(unsent.getsockname()[0])
    elif address not in LOCAL:
        hosts.append(address)
    return list(dict.fromkeys(hosts))


def _is_free(address: str, port: int) -> bool:
    if not 0 < port < 65536:
        raise InputError("port", str(port), "1 to 65535")
    unknown = InputError(
        "address", repr(address), "localhost, 0.0.0.0 or an address of this machine"
    )
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(
            address or "-", port, type=socket.SOCK_STREAM
        )[0]
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
