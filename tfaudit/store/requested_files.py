"""Files that a user names: written into pipes and devices, through links, with the permissions of what was there."""

import contextlib
import errno
import os
import stat
from pathlib import Path

from tfaudit.errors import InputError
from tfaudit.runtime.standard_streams import write_descriptor
from tfaudit.store.files import replace_file, require_there, write_whole

STDOUT = Path("/dev/stdout")

STUDY_PARTS = (
    "study.json",
    "members",
    "predictions",
    "examples",
    "costs.parquet",
    "features.parquet",
    "candidates.parquet",
    "failures",
    "audit",
)
"""What a directory holds of a study; see `tfaudit.store.store`."""

_LINKS = 40
"""Most links that a path leads through, as on Linux."""

_IRREPLACEABLE = (errno.EPERM, errno.EACCES, errno.EBUSY, errno.ENAMETOOLONG)
"""Why a file may not be replaced although it may be written: its folder or its owner forbids it, or it is mounted."""


def write_requested(
    argument: str,
    path: Path,
    content: bytes,
    *,
    expected: str = "a writable path",
    within: Path | None = None,
) -> None:
    """Write a file that a user asked for.

    A regular file is replaced whole or not at all, and keeps its owner and permissions; links are followed. A file with
    several names, or in a folder that forbids new files, is overwritten. What is no regular file, such as a pipe or
    `/dev/stdout`, is written into.

    Args:
        argument: name of the argument that gives the file.
        path: path of the file; its folder is created if it is missing.
        content: the whole content.
        expected: expectation that the error states.
        within: a folder above the file that must exist, so that one that was moved away is not created again; none by
            default.

    Raises:
        InputError: the file cannot be written.
    """
    try:
        require_there(within)
        with contextlib.suppress(BrokenPipeError):  # its reader has read enough
            _write(path, content)
    except OSError as problem:
        raise _unwritable(argument, path, problem, expected) from None


def _write(path: Path, content: bytes) -> None:
    descriptor = descriptor_of(path)
    if descriptor is not None:
        write_descriptor(descriptor, content)
        return
    try:
        there = path.stat()
    except FileNotFoundError:
        write_whole(Path(os.path.realpath(path)), content)
        return
    if stat.S_ISREG(there.st_mode) and there.st_nlink == 1 and os.access(path, os.W_OK):
        try:
            replace_file(Path(os.path.realpath(path)), content, there)
            return
        except OSError as problem:
            if problem.errno not in _IRREPLACEABLE:
                raise
    with open(path, "wb", opener=_open_existing) as file:
        file.write(content)


def _open_existing(path: str, flags: int) -> int:
    return os.open(
        path, flags & ~os.O_CREAT
    )  # a sticky folder forbids to "create" a pipe of another user


def descriptor_of(path: Path) -> int | None:
    """Return the descriptor of this process that a path leads to, or None.

    Example:
        >>> descriptor_of(STDOUT), descriptor_of(Path("/dev/fd/63")), descriptor_of(Path("/dev/null"))
        (1, 63, None)
    """
    place = path.absolute()
    with contextlib.suppress(OSError):  # such as a name that is too long
        for _ in range(_LINKS):
            folder = Path(os.path.realpath(place.parent))
            if place.name.isdecimal() and str(folder) == os.path.realpath("/dev/fd"):
                return int(place.name)
            place = folder / place.name
            if not place.is_symlink():
                break
            place = folder / place.readlink()
    return None


def require_writable(argument: str, path: Path) -> None:
    """Raise an `InputError` unless a file can be written to a path; nothing is written."""
    if descriptor_of(path) is not None:
        return
    try:
        there = path.stat()
    except FileNotFoundError:
        folder = Path(os.path.realpath(path)).parent
        if not folder.is_dir():
            got = f"{path}, whose folder {folder} does not exist"
            raise InputError(argument, got, "a file in an existing folder") from None
        _require_access(argument, path, folder)
    except OSError as problem:
        raise _unwritable(argument, path, problem, "a writable path") from None
    else:
        kind = _UNWRITABLE.get(stat.S_IFMT(there.st_mode))
        if kind is not None:
            raise InputError(argument, f"{path}, which is {kind}", "a file")
        _require_access(argument, path, path)


def require_writable_folder(argument: str, folder: Path) -> None:
    """Raise an `InputError` unless files can be written into a folder, which need not exist; nothing is written."""
    try:
        place = next(
            place for place in (folder, *folder.absolute().parents) if os.path.lexists(place)
        )
        if not stat.S_ISDIR(place.stat().st_mode):
            got = f"{folder}, which cannot be written ({place} is no folder)"
            raise InputError(argument, got, "a folder, which need not exist")
    except OSError as problem:
        raise _unwritable(argument, folder, problem, "a writable folder") from None
    _require_access(argument, folder, place)


def is_part_of_study(path: Path, directory: Path) -> bool:
    """Return whether a path leads to what a directory holds of a study: its records, not its reports."""
    if not (directory / "study.json").is_file():
        return False
    root = Path(os.path.realpath(directory))
    place = Path(os.path.realpath(path))
    return any(place.is_relative_to(root / name) for name in STUDY_PARTS)


def _require_access(argument: str, path: Path, place: Path) -> None:
    if not os.access(place, os.W_OK):
        problem = PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        raise _unwritable(argument, path, problem, "a writable path")


def _unwritable(argument: str, path: Path, problem: OSError, expected: str) -> InputError:
    got = f"{path}, which cannot be written ({problem.strerror})"
    return InputError(argument, got, expected)


_UNWRITABLE = {stat.S_IFDIR: "a folder", stat.S_IFBLK: "a block device", stat.S_IFSOCK: "a socket"}
"""Types of places that no file is written to, in words."""
