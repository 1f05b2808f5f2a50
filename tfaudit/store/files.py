"""Files on disk: written whole or not at all, and a directory held by one run at a time."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

import filelock

from tfaudit.errors import InputError

__all__ = ["leads_outside", "lock", "remove_unfinished", "write_whole"]


def write_whole(place: Path, content: bytes) -> None:
    """Writes a file beside its place, then renames it into it: readers see the old file or the new one, whole.

    Raises:
        OSError: the file cannot be written (no space, no permission); nothing half-written stays.
    """
    beside = place.with_name(f".{place.name}.{os.getpid()}.part")
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with beside.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(place)
    except OSError:
        with contextlib.suppress(OSError):
            beside.unlink(missing_ok=True)
        raise


def remove_unfinished(directory: Path) -> None:
    """Removes what writers that were killed have left beside its place. Nobody may be writing."""
    for part in directory.rglob(".*.part"):
        part.unlink(missing_ok=True)


@contextlib.contextmanager
def lock(directory: str | Path) -> Iterator[None]:
    """Makes a directory if need be and holds it for one run.

    The operating system frees it when the process ends, however it ends.

    Raises:
        InputError: another run holds it.
        OSError: the directory cannot be written.
    """
    Path(directory).mkdir(parents=True, exist_ok=True)
    held = filelock.FileLock(Path(directory) / ".lock")
    try:
        held.acquire(timeout=0)
    except filelock.Timeout:
        raise InputError(f"directory: {directory} is in use by another `tfaudit run`; wait until it ends") from None
    try:
        yield
    finally:
        held.release()


def leads_outside(place: Path, directory: Path) -> Path | None:
    """A symbolic link in a folder to what is not in it, or the folder itself where it is no folder of the directory's.

    None where nothing leads outside.
    """
    root = os.path.realpath(place)
    if not _is_within(root, os.path.realpath(directory)):
        return place
    folders = [root]
    while folders:
        with os.scandir(folders.pop()) as entries:
            for entry in entries:
                if entry.is_symlink():
                    if not _is_within(os.path.realpath(entry.path), root):
                        return Path(entry.path)
                elif entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
    return None


def _is_within(place: str, folder: str) -> bool:
    return os.path.commonpath([place, folder]) == folder
