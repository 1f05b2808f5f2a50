"""Logs of workers, in the folder `logs` of a study."""

import contextlib
import os
from pathlib import Path
from typing import BinaryIO

from tfaudit.errors import InputError


def open_log(path: Path) -> BinaryIO:
    """Open a log to append to it.

    Raises:
        InputError: the log or its folder is a link, which could lead out of the study.
        OSError: the log cannot be written.
    """
    for place in (path.parent, path):
        if place.is_symlink():
            expected = "a folder and files in the study; remove the link"
            raise InputError("logs", f"{place}, which is a link", expected)
    path.parent.mkdir(exist_ok=True)
    return open(path, "ab", opener=lambda name, flags: os.open(name, flags | os.O_NOFOLLOW, 0o666))


def remove_if_empty(log: Path) -> None:
    """Delete a log in which nothing was printed."""
    with contextlib.suppress(OSError):
        if not log.stat().st_size:
            log.unlink()
