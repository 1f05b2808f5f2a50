"""Standard output and error that outlast their reader, and lack no character of a text."""

import contextlib
import errno
import io
import os
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any, TextIO

from tfaudit.errors import InputError

STDOUT, STDERR = 1, 2

_reserved: list[
    TextIO | None
] = []  # standard output where it is reserved for results, the present one last


class _Descriptor(io.FileIO):
    """A descriptor to write to: what nobody reads any more, as behind `| head -1`, is dropped without a word."""

    def write(self, content: Any) -> int:
        try:
            return super().write(content)
        except OSError as problem:
            with Path(os.devnull).open("wb") as nowhere:
                os.dup2(nowhere.fileno(), self.fileno())
            if problem.errno == errno.EPIPE or self.fileno() == STDERR:
                return memoryview(content).nbytes
            got = f"a place that cannot be written ({problem.strerror})"
            raise InputError("standard output", got, "one with free space") from None


def lasting(stream: TextIO) -> TextIO:
    """Return a standard stream that outlasts its reader, with "?" for characters that its encoding lacks.

    A stream that is no descriptor, such as one in memory, is returned as it is.

    Raises:
        InputError: later, when something is written to a full device.
    """
    try:
        stream.flush()
        descriptor = stream.fileno()
    except (OSError, ValueError, AttributeError):  # in memory, closed or None
        return stream
    return _text(descriptor, stream, closes=False)


def _text(descriptor: int, like: TextIO, *, closes: bool) -> TextIO:
    raw = _Descriptor(descriptor, "w", closefd=closes)
    is_error = descriptor == STDERR
    return io.TextIOWrapper(
        io.BufferedWriter(raw),
        encoding=like.encoding,
        errors="backslashreplace" if is_error else "replace",
        line_buffering=is_error or raw.isatty(),
    )


@contextlib.contextmanager
def reserved_stdout() -> Iterator[TextIO]:
    """Yield standard output for results alone: what anything else writes there goes to standard error.

    So does what the user's code prints, and what C libraries and subprocesses write to descriptor 1.
    """
    stdout = sys.stdout
    try:
        stdout.flush()
        is_descriptor = stdout.fileno() == STDOUT
    except (OSError, ValueError, AttributeError):  # a stream in memory, or none
        is_descriptor = False
    with contextlib.ExitStack() as stack:
        results = stdout
        if is_descriptor:
            results = stack.enter_context(_text(os.dup(STDOUT), stdout, closes=True))
            stack.callback(os.dup2, results.fileno(), STDOUT)
            stack.callback(stdout.flush)
            os.dup2(STDERR if sys.stderr else os.open(os.devnull, os.O_WRONLY), STDOUT)
        stack.enter_context(redirect_stdout(sys.stderr))
        _reserved.append(results)
        stack.callback(_reserved.pop)
        yield results


def write_descriptor(descriptor: int, content: bytes) -> None:
    """Write bytes to a descriptor of this process; 1 is standard output, also where it is reserved for results."""
    if descriptor == STDOUT and _reserved:
        if (results := _reserved[-1]) is not None:  # it may be closed
            results.flush()
            results.buffer.write(content)
            results.buffer.flush()
        return
    with open(descriptor, "wb", closefd=False) as file:
        file.write(content)
