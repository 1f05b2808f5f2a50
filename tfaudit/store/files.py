"""Files that are written whole or not at all, and a lock that gives one run a directory."""

import contextlib
import errno
import functools
import json
import os
import platform
import stat
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import filelock

from tfaudit.errors import InputError
from tfaudit.runtime.file_systems import is_shared
from tfaudit.runtime.seals import seal_of_file

NOTE = ".running"  # file that names the machine of a run, on file systems that machines share
STALE = 120.0  # seconds after which a note that was not renewed no longer counts


def file_error(argument: str, got: str) -> InputError:
    """Return the error about a file of a study that is missing or damaged.

    Example:
        >>> print(file_error("costs", "a damaged file, costs.parquet"))
        costs: got a damaged file, costs.parquet, expected a file that tfaudit wrote; `tfaudit run` with the same recipe
        and directory makes it again
    """
    expected = (
        "a file that tfaudit wrote; `tfaudit run` with the same recipe and directory makes it again"
    )
    return InputError(argument, got, expected)


def unwritable(directory: str | Path, problem: OSError) -> InputError:
    """Return the error about a study's directory in which a file cannot be written.

    Example:
        >>> print(unwritable(Path("runs"), OSError(28, "No space left on device", "runs/study.json")))
        directory: got runs, which cannot be written (No space left on device: runs/study.json), expected a writable
        directory with free space; then run again
    """
    got = f"{directory}, which cannot be written ({problem.strerror}: {problem.filename or directory})"
    return InputError("directory", got, "a writable directory with free space; then run again")


def write_whole(path: Path, content: bytes, within: Path | None = None) -> None:
    """Write a temporary file in the same folder, then rename it: readers see the whole old file or the whole new one.

    Args:
        path: path of the file; its folder is created if it is missing.
        content: the whole content.
        within: a folder above the file that must exist, so that one that was moved away is not created again; none by
            default.

    Raises:
        OSError: the file cannot be written (no space, no permission); no part of it remains.
    """
    require_there(within)
    _make_folder(path.parent)
    replace_file(path, content)


def require_there(folder: Path | None) -> None:
    """Raise `FileNotFoundError` if the folder above a file to write was moved or deleted; None is never refused."""
    if folder is not None and not folder.is_dir():
        raise FileNotFoundError(errno.ENOENT, "moved or deleted", str(folder))


def replace_file(path: Path, content: bytes, like: os.stat_result | None = None) -> None:
    """Put a new file in the place of what is there, as `write_whole` does, in a folder that exists.

    Args:
        path: path of the file; a link there is replaced, not followed.
        content: the whole content.
        like: status of the file whose owner and permissions the new one takes; by default those of any new file.
    """
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as file:
            if like is not None:
                os.fchown(file.fileno(), like.st_uid, like.st_gid)
                os.fchmod(file.fileno(), stat.S_IMODE(like.st_mode))
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def _make_folder(folder: Path) -> None:
    """Create a folder and those above it; on the disk when this returns, where the system can."""
    if folder.is_dir():
        return
    if folder.parent != folder:
        _make_folder(folder.parent)
    folder.mkdir(exist_ok=True)
    _sync_folder(folder.parent)


def _sync_folder(folder: Path) -> None:
    """Flush a folder to the disk, so that a loss of power does not undo a change of the names in it."""
    with contextlib.suppress(OSError):  # not every system lets folders be opened
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def remove_unfinished(directory: Path) -> None:
    """Remove the unfinished files of writers that were killed. No other process may be writing."""
    for part in directory.rglob(".*.part"):
        part.unlink(missing_ok=True)


@contextlib.contextmanager
def disk_errors(directory: str | Path) -> Iterator[None]:
    """Turn an `OSError` within a block into an `InputError` about a directory that cannot be written."""
    try:
        yield
    except OSError as problem:
        raise unwritable(directory, problem) from problem


@contextlib.contextmanager
def lock(directory: str | Path, command: str = "tfaudit run") -> Iterator[None]:
    """Hold a directory for one run of a command, and create it if it is missing.

    The operating system releases the lock when the process ends, however it ends. On a file system that machines share,
    a lock may silently hold on one machine only, so the run also leaves a note there, which it renews.

    Raises:
        InputError: another run holds the directory, here or on another machine, its file system has no locks, or a file
            cannot be written within the block.
    """
    with disk_errors(directory), _held(Path(directory), command):
        yield


@contextlib.contextmanager
def _held(directory: Path, command: str) -> Iterator[None]:
    directory.mkdir(parents=True, exist_ok=True)
    file_lock = filelock.FileLock(directory / ".lock")
    try:
        file_lock.acquire(timeout=0)
    except filelock.Timeout:
        got = f"{directory}, in use by another `{command}`"
        raise InputError(
            "directory", got, "a directory that is not in use; wait until that run ends"
        ) from None
    except NotImplementedError:
        raise _no_locks(directory) from None
    except OSError as problem:
        if problem.errno in (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS):
            raise _no_locks(directory) from None
        raise
    try:
        with (
            _noted(directory / NOTE, command) if is_shared(directory) else contextlib.nullcontext()
        ):
            yield
    finally:
        file_lock.release()


@contextlib.contextmanager
def _noted(note: Path, command: str) -> Iterator[None]:
    """Leave a note that names this machine, and renew it; raise `InputError` if another machine's is still fresh."""
    mine = json.dumps({"machine": platform.node(), "process": os.getpid()})
    try:
        machine = json.loads(note.read_text())["machine"]
    except (OSError, ValueError, KeyError, TypeError):
        machine = platform.node()
    if machine == platform.node() or _age(note) > STALE:  # on this machine the lock has told
        note.unlink(missing_ok=True)
    try:
        descriptor = os.open(
            note, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644
        )  # one machine alone succeeds
    except FileExistsError:
        got = f"{note.parent}, in use by another `{command}` on {machine}"
        expected = (
            f"a directory that is not in use; {STALE:g} s after that run has ended it is free"
        )
        raise InputError("directory", got, expected) from None
    with os.fdopen(descriptor, "w") as file:
        file.write(mine)
    ended = threading.Event()

    def renew() -> None:
        while not ended.wait(STALE / 4):
            with contextlib.suppress(OSError):
                os.utime(note)

    renewal = threading.Thread(target=renew, daemon=True)
    renewal.start()
    try:
        yield
    finally:
        ended.set()
        renewal.join()
        with contextlib.suppress(OSError):
            note.unlink()


def _age(note: Path) -> float:
    """Return the seconds since a note was renewed, by the clock of the file system."""
    with tempfile.NamedTemporaryFile(dir=note.parent, prefix=f"{NOTE}-") as now:
        return Path(now.name).stat().st_mtime - note.stat().st_mtime


def _no_locks(directory: str | Path) -> InputError:
    got = f"{directory}, on a file system without locks"
    return InputError(
        "directory", got, "a directory on a file system with locks, such as a local disk"
    )


def file_seal(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal; a file that has not changed is read once."""
    state = path.stat()
    return _seal_of_state(path, state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns)


@functools.lru_cache(maxsize=64)
def _seal_of_state(path: Path, *state: int) -> str:
    with path.open("rb") as file:
        return seal_of_file(file)


def path_outside(folder: Path, directory: Path) -> Path | None:
    """Return the folder if it is outside the directory, or else its first link that leads out of it, or None."""
    root = os.path.realpath(folder)
    if not _is_within(root, os.path.realpath(directory)):
        return folder
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


def _is_within(path: str, folder: str) -> bool:
    return os.path.commonpath([path, folder]) == folder
