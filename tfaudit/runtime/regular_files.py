"""Regular files, opened without waiting: a pipe would block its reader for ever, and a device may never end."""

import errno
import os
import stat
from io import BufferedReader
from pathlib import Path

LARGEST = 2**33
"""Most bytes of a file that is read into memory."""


def open_regular(path: Path) -> BufferedReader:
    """Open a file to read its bytes; a pipe, device, socket or folder raises `OSError`.

    Example:
        >>> open_regular(Path(os.devnull))
        Traceback (most recent call last):
        OSError: [Errno 22] not a regular file: '/dev/null'
    """
    file = open(path, "rb", opener=_open_without_waiting)  # noqa: SIM115 - the caller closes it
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    return file


def _open_without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def read_regular(path: Path) -> bytes:
    """Return the content of a regular file; any other file, or one of more than `LARGEST` bytes, raises `OSError`."""
    with open_regular(path) as file:
        if (size := os.fstat(file.fileno()).st_size) > LARGEST:
            raise OSError(errno.EFBIG, f"{size:,} bytes, more than {LARGEST:,}", str(path))
        return file.read()
