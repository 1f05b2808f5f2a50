"""A lock on a file, which the operating system releases when the process ends, however it ends."""

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator
from pathlib import Path

_PAUSE = 0.05  # seconds between two attempts


@contextlib.contextmanager
def file_lock(path: Path, *, patience: float = 0) -> Iterator[None]:
    """Hold a file, and create it if it is missing; wait at most `patience` seconds for another process or thread.

    Raises:
        BlockingIOError: another one holds the file.
        OSError: the file cannot be opened, or its file system has no locks.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o644)
    try:
        give_up = time.monotonic() + patience
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= give_up:
                    raise
                time.sleep(_PAUSE)
        try:
            yield
        finally:
            fcntl.flock(descriptor, fcntl.LOCK_UN)  # forks hold the descriptor, too
    finally:
        os.close(descriptor)
