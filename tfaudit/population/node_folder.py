"""Temporary folders of runs on a node that has no file system in common with the driver.

    TMP/tfaudit-node-USER/RUN/splits.pickle        training and test set in memory, for all processes of the run
    TMP/tfaudit-node-USER/RUN/PROCESS/study/       the directory of the study that a worker works in
    TMP/tfaudit-node-USER/RUN/PROCESS/scratch/     its temporary files
    TMP/tfaudit-node-USER/RUN/PROCESS/worker.pid   its process id

These files are removed when the run or its worker ends, or when the next process of a run starts on the node.
"""

import contextlib
import os
import pickle
import shutil
import signal
import tempfile
from pathlib import Path

import filelock

from tfaudit.datasets.dataset import Splits
from tfaudit.store.files import write_whole

_PREFIX, _SPLITS = "tfaudit-node-", "splits.pickle"


def make_workplace(run: str, splits: Splits | None) -> Path:
    """Make the folder of this process in a run, lay the splits beside it, and return it.

    Raises:
        PermissionError: another user made the folder of this user's runs.
    """
    root = _checked_root()
    place = root / run / str(os.getpid())
    with _lock(root):
        _remove_abandoned(root)
        (place / "scratch").mkdir(parents=True, exist_ok=True)
        if splits and not (place.parent / _SPLITS).exists():
            write_whole(place.parent / _SPLITS, pickle.dumps(splits, protocol=5))
    return place


def end_run(run: str) -> None:
    """End the workers of a run on this node, and remove what they left."""
    root = _checked_root()
    with _lock(root):
        for note in (root / run).glob("*/worker.pid"):
            with contextlib.suppress(ProcessLookupError, ValueError):
                os.kill(int(note.read_text()), signal.SIGKILL)
        shutil.rmtree(root / run, ignore_errors=True)


def remove_workplace(directory: Path) -> None:
    """Remove the folder around a study's directory on a node; do nothing to any other directory."""
    root = _root(directory)
    if root:
        with _lock(root):
            shutil.rmtree(directory.parent, ignore_errors=True)
            _remove_abandoned(root)


def shipped_splits(directory: Path) -> Splits | None:
    """Return the training and the test set that a run sent to the node; None elsewhere, or for streaming sets."""
    root = _root(directory)
    path = directory.parent.parent / _SPLITS
    if not root or not path.exists():
        return None
    _check_owner(root)
    splits: Splits = pickle.loads(path.read_bytes())
    return splits


def _root(directory: Path) -> Path | None:
    root = directory.absolute().parent.parent.parent
    return root if root.name == f"{_PREFIX}{os.getuid()}" else None


def _checked_root() -> Path:
    root = Path(tempfile.gettempdir()) / f"{_PREFIX}{os.getuid()}"
    root.mkdir(mode=0o700, exist_ok=True)
    _check_owner(root)
    return root


def _check_owner(root: Path) -> None:
    if root.is_symlink() or root.stat().st_uid != os.getuid():
        # That user could have put pickles there.
        raise PermissionError(f"{root} belongs to another user")


def _lock(root: Path) -> filelock.BaseFileLock:
    return filelock.FileLock(root / ".lock")


def _remove_abandoned(root: Path) -> None:
    """Remove the files of processes that have ended, and the splits of runs without a process on this node."""
    for run in root.glob("*/"):
        processes = [folder for folder in run.glob("*/") if folder.name.isdecimal()]
        for folder in processes:
            if not _is_alive(int(folder.name)):
                shutil.rmtree(folder, ignore_errors=True)
        if not any(folder.exists() for folder in processes):
            shutil.rmtree(run, ignore_errors=True)


def _is_alive(process: int) -> bool:
    with contextlib.suppress(ProcessLookupError):
        os.kill(process, 0)
        return True
    return False
