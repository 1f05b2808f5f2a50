"""Python processes that need not import TensorFlow and its kin: forks of one process that has imported them.

`[*warm_python, "-c", CODE]`, with the fixture of that name, behaves as `[sys.executable, "-c", CODE]` (also with
`-m MODULE` or a file, and `-P` before them): arguments, pipes, environment, folder and exit status are the same,
nothing of tfaudit has been imported, and TensorFlow has not been set up. It starts at once instead of after 7 seconds.
Tests of what is imported, of signals, or of a whole run from nothing take `sys.executable`.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

LIBRARIES = (
    *("tensorflow", "keras", "tensorflow_datasets", "sklearn", "pandas", "pyarrow.parquet"),
    *("scipy.stats", "statsmodels.formula.api", "altair", "typer"),
)


@contextlib.contextmanager
def warm_process(path: Path) -> Iterator[tuple[str, ...]]:
    """Yield the beginning of a command; all that name the same path share the process that forks, which ends last."""
    from filelock import FileLock

    process = None
    with FileLock(f"{path}.lock"):
        try:
            connection = _connect(path)
        except OSError:
            read, write = os.pipe()
            command = [sys.executable, "-P", __file__, "serve", str(path), str(write)]
            environment = {**os.environ, "OMP_NUM_THREADS": "1"}  # forks lose threads
            process = subprocess.Popen(
                command,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[write],
            )
            os.close(write)
            assert os.read(read, 1), "the process did not start"
            os.close(read)
            connection = _connect(path)
    try:
        # Without site-packages, which it does not need, the command starts within 20 ms.
        yield sys.executable, "-IS", __file__, "run", str(path)
    finally:
        connection.close()
        if process:
            process.wait()


def _connect(path: Path | str) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.connect(str(path))
        if not connection.recv(1):
            raise ConnectionError("about to end")
    except OSError:
        connection.close()
        raise
    return connection


def _run(path: str, arguments: list[str]) -> None:
    """Have Python's arguments run by a fork, and end as it does."""
    connection = _connect(path)
    request = {"arguments": arguments, "environment": dict(os.environ), "folder": str(Path.cwd())}
    content = json.dumps(request).encode()
    socket.send_fds(connection, [len(content).to_bytes(8, "big")], [0, 1, 2])
    connection.sendall(content)
    for descriptor in (0, 1, 2):
        os.close(descriptor)  # or a reader would wait for this process, too
    status = int(connection.recv(64) or signal.SIGKILL)
    if os.WIFSIGNALED(status):
        os.kill(os.getpid(), os.WTERMSIG(status))
    os._exit(os.waitstatus_to_exitcode(status))


def _serve(path: str, started: int) -> tuple[dict, list[int]] | None:
    """Import the libraries and fork for each request; return the request in the fork, and None when all have gone."""
    import atexit
    import gc
    import importlib

    gc.disable()
    for name in LIBRARIES:
        importlib.import_module(name)
    gc.freeze()  # collections in forks do not copy these pages
    gc.enable()
    gc.set_threshold(100_000, 2, 2)  # as in the tests themselves
    atexit.register(gc.freeze)
    Path(path).unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen(64)
        os.write(started, b"1")
        os.close(started)
        connections: list[socket.socket] = []
        while started or connections:
            for ready in select.select([listener, *connections], [], [])[0]:
                if ready is listener:
                    connections.append(listener.accept()[0])
                    connections[-1].send(b"1")
                    started = 0
                    continue
                header, descriptors, _, _ = socket.recv_fds(ready, 8, 3)
                if header and os.fork() == 0:
                    listener.close()
                    for connection in connections:
                        if connection is not ready:
                            connection.close()
                    return _forked(ready, int.from_bytes(header, "big"), descriptors), descriptors
                for descriptor in descriptors:
                    os.close(descriptor)
                connections.remove(ready)
                ready.close()
            _reap(os.WNOHANG)
    _reap(0)
    return None


def _reap(options: int) -> None:
    """Take note of the forks that have ended, or without `os.WNOHANG` of all forks."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, options)[0]:
            pass


def _forked(connection: socket.socket, size: int, descriptors: list[int]) -> dict:
    """Read a request and return it in one more fork, which is killed when nobody waits for it; report how it ended."""
    content = b""
    while len(content) < size:
        content += connection.recv(size - len(content))
    child = os.fork()
    if child == 0:
        connection.close()
        return json.loads(content)
    for descriptor in (0, 1, 2, *descriptors):
        os.close(descriptor)  # the fork's alone, so that a reader learns of its end
    handle = os.pidfd_open(child)
    if handle not in select.select([handle, connection], [], [])[0]:
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    with contextlib.suppress(OSError):
        connection.sendall(str(status).encode())
    os._exit(0)


def _python(arguments: list[str], environment: dict[str, str], folder: str) -> None:
    """Do what `python ARGUMENTS` does."""
    import runpy
    import tempfile
    import types

    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    tempfile.tempdir = None  # a library may have asked for it
    safe = arguments[0] == "-P"
    what, *rest = arguments[safe:]
    current = [] if safe else [{"-c": "", "-m": folder}.get(what, str(Path(what).resolve().parent))]
    sys.path[:0] = [*current, *filter(None, environment.get("PYTHONPATH", "").split(os.pathsep))]
    if environment.get("PYTHONUNBUFFERED"):
        sys.stdout.reconfigure(write_through=True)
    if what == "-c":
        sys.argv = ["-c", *rest[1:]]
        sys.modules["__main__"] = types.ModuleType("__main__")
        exec(compile(rest[0], "<string>", "exec"), sys.modules["__main__"].__dict__)
    elif what == "-m":
        sys.argv = rest
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    else:
        sys.argv = [what, *rest]
        runpy.run_path(what, run_name="__main__")


if __name__ == "__main__":
    _, action, path, *arguments = sys.argv
    if action == "run":
        _run(path, arguments)
    elif forked := _serve(path, int(arguments[0])):
        request, descriptors = forked
        for number, descriptor in enumerate(descriptors):
            os.dup2(descriptor, number)
            os.close(descriptor)
        _python(**request)
