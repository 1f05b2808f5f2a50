"""Logs of workers, in the folder `logs` of a study."""

import os
from pathlib import Path

from tfaudit.errors import InputError


def open_log(path: Path) -> int:
    """Open a log to append to it and return its file descriptor.

    Raises:
        InputError: it or its folder is a link, which could lead out of the study.
        OSError: it cannot be written.
    """
    for place in (path.parent, path):
        if place.is_symlink():
            raise InputError(
                "logs",
                f"{place}, which is a link",
                "a folder and files in the study; remove the link",
            )
    path.parent.mkdir(exist_ok=True)
    return os.open(
        path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0), 0o666
    )
