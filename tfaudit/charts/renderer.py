"""vl-convert in a process of its own: a chart that makes it abort costs that chart, not the report or the viewer."""

import atexit
import importlib.util
import os
import pickle
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any


def can_draw() -> bool:
    """Return whether the libraries of the extra `charts` are installed."""
    return all(map(importlib.util.find_spec, ("altair", "vl_convert")))


def require_drawing() -> None:
    """Raise an ImportError that names vl-convert if it is not installed."""
    if not can_draw():
        raise ModuleNotFoundError("vl-convert draws the charts", name="vl_convert")


class DrawingError(RuntimeError):
    """The error for a chart that cannot be drawn."""


class Renderer:
    """A process that draws one chart after another; it starts with the first chart, and again after it has died."""

    def __init__(self) -> None:
        self._one_at_a_time = threading.Lock()
        # By id of the process that it draws for, because a fork has its own.
        self._processes: dict[int, subprocess.Popen[bytes]] = {}

    def __call__(self, function: str, *arguments: Any, **options: Any) -> Any:
        """Call a function of vl-convert and return its result.

        Raises:
            ImportError: vl-convert is not installed.
            DrawingError: the function fails, or ends the process.
        """
        with self._one_at_a_time:
            try:
                process = self._running()
                pickle.dump((function, arguments, options), process.stdin)  # type: ignore[arg-type]
                process.stdin.flush()  # type: ignore[union-attr]
                drawn, value = pickle.load(process.stdout)  # type: ignore[arg-type]
            except (OSError, EOFError, pickle.UnpicklingError):
                self._end()
                raise DrawingError(
                    "vl-convert, which draws the charts, crashed on this one"
                ) from None
            except BaseException:  # such as an interrupt: the next call would get this answer
                self._end()
                raise
        if not drawn:
            raise DrawingError(value)
        return value

    def _running(self) -> subprocess.Popen[bytes]:
        process = self._processes.get(os.getpid())
        if process is None or process.poll() is not None:
            self._end()
            place = importlib.util.find_spec("vl_convert")
            if place is None or place.origin is None:
                raise ModuleNotFoundError("vl-convert draws the charts", name="vl_convert")
            command = [sys.executable, "-P", __file__, str(Path(place.origin).parents[1])]
            pipe = subprocess.PIPE
            nowhere = subprocess.DEVNULL
            process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=nowhere)
            self._processes[os.getpid()] = process
            atexit.register(self._end)
        return process

    def _end(self) -> None:
        if process := self._processes.pop(os.getpid(), None):
            process.kill()
            process.communicate()
            atexit.unregister(self._end)


draw = Renderer()
"""The renderer of this process."""


def _serve(folder: str) -> None:
    """Answer calls on standard input until it ends, with the vl-convert of a folder."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is meant for the calling process
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    sys.path.append(folder)
    import vl_convert

    while True:
        try:
            function, arguments, options = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        try:
            answer = True, getattr(vl_convert, function)(*arguments, **options)
        except Exception as problem:
            answer = False, f"{type(problem).__name__}: {problem}"
        pickle.dump(answer, answers)
        answers.flush()


if __name__ == "__main__":
    _serve(sys.argv[1])
