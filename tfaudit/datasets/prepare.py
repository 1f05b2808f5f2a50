"""Lays local files down as a prepared TFDS data set, which `tfds.load(name, download=False)` reads offline."""

from __future__ import annotations

import contextlib
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from tfaudit.datasets.builders import NOT_IN_TFDS, data_folder, find_builder
from tfaudit.datasets.local_files import Source
from tfaudit.errors import InputError
from tfaudit.quiet import quiet_tfds, start_tensorflow

__all__ = ["PREPARABLE", "prepare"]

IDX_NAMES = (
    "mnist",
    "fashion_mnist",
    "kmnist",
    *(f"emnist/{config}" for config in ("byclass", "bymerge", "balanced", "letters", "digits", "mnist")),
)

PREPARABLE = (*IDX_NAMES, "cifar10", *NOT_IN_TFDS)
"""Names whose published files `prepare` reads; any name TFDS does not know takes a folder of images per class."""

OWN_VERSION = "1.0.0"


def prepare(
    name: str,
    source: str | Path,
    *,
    data_dir: str | Path | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Path:
    """Lay the files of a data set down where `load_dataset` and `tfds.load` find them.

    The set is written beside its place and renamed into it: an interrupted call leaves nothing that would be loaded,
    and the next one clears it away. A set that is already prepared is left as it is.

    Args:
        name: One of `PREPARABLE`, or a new name for a folder of images per class.
        source: The folder of the files: IDX (plain or .gz), CIFAR-10's binary version, QMNIST's labels beside MNIST's
            images, or `folder_source`'s layouts.
        data_dir: Folder of the prepared sets; by default the variable `TFDS_DATA_DIR` or `~/tensorflow_datasets`.
        progress: Called with the examples written so far and their total.

    Returns:
        The folder of the prepared set.

    Raises:
        InputError: A name that is not to be had, missing or damaged files, or a folder that cannot be written.
    """
    files, root = Path(source).expanduser(), data_folder(data_dir)
    builder = find_builder(name, root) if name in PREPARABLE and name not in NOT_IN_TFDS else None
    if name not in PREPARABLE:
        _check_new(name)
    version = OWN_VERSION if builder is None else str(builder.version)
    target = root / name / version
    if (target / "dataset_info.json").is_file():
        return target
    if not files.is_dir():
        raise InputError(f"source {files} is not a folder")
    checked = _read(name, files, builder)
    beside = f".prepare-{name.replace('/', '-')}-"
    try:
        root.mkdir(parents=True, exist_ok=True)
        with FileLock(root / f"{beside}lock", timeout=0):
            for leftover in root.glob(f"{beside}*/"):
                shutil.rmtree(leftover)
            with tempfile.TemporaryDirectory(prefix=beside, dir=root) as work:
                _write(name, version, checked, builder, Path(work), progress)
                target.parent.mkdir(parents=True, exist_ok=True)
                (Path(work) / name / version).rename(target)
    except Timeout:
        raise InputError(f"data set {name!r} is being prepared in {root} by another process; wait for it") from None
    except OSError as error:
        raise InputError(f"data set {name!r} cannot be written to {target}: {error}") from None
    return target


def _check_new(name: str) -> None:
    """A folder's name must be free: neither embedded nor TFDS' own."""
    import tensorflow_datasets as tfds

    if not re.fullmatch(r"[a-z]\w*", name) or name == "digits":
        raise InputError(
            f"name is {name!r}; give a new name of small letters, digits and _, or {', '.join(PREPARABLE)}"
        )
    if name in tfds.list_builders(with_community_datasets=False):
        raise InputError(
            f"name is {name!r}, a set that TFDS prepares itself: "
            f"python -c \"import tensorflow_datasets as tfds; tfds.builder('{name}').download_and_prepare()\"; "
            f"tfaudit prepares {', '.join(PREPARABLE)}, and folders under names of your own"
        )


def _read(name: str, files: Path, builder: Any) -> Source:
    if name in IDX_NAMES:
        from tfaudit.datasets.idx import idx_source

        return idx_source(files, builder)
    if name == "cifar10":
        from tfaudit.datasets.cifar import cifar10_source

        return cifar10_source(files, builder)
    if name == "qmnist":
        from tfaudit.datasets.qmnist import qmnist_source

        return qmnist_source(files)
    from tfaudit.datasets.folder import folder_source

    return folder_source(files)


def _write(
    name: str, version: str, source: Source, builder: Any, work: Path, progress: Callable[[int, int], None] | None
) -> None:
    start_tensorflow()
    import tensorflow as tf
    import tensorflow_datasets as tfds

    count = iter(range(1, source.total + 1))
    screen = sys.stdout

    def counted(examples: Iterable[Any]) -> Iterator[Any]:
        for example in examples:
            yield example
            done = next(count)
            if progress is not None and (done % 1000 == 0 or done == source.total):
                with contextlib.redirect_stdout(screen):  # TFDS is silenced, its caller is not
                    progress(done, source.total)

    try:
        with quiet_tfds():
            tfds.dataset_builders.store_as_tfds_dataset(
                name=name.partition("/")[0],
                version=version,
                config=None if builder is None else builder.builder_config,
                features=source.features,
                split_datasets={split: counted(examples) for split, examples in source.splits.items()},
                data_dir=work,
            )
    except (tf.errors.OpError, RuntimeError) as error:
        # TFDS wraps what TensorFlow's file writer raises, a full disk among them.
        cause = error.__cause__ if isinstance(error.__cause__, tf.errors.OpError) else error
        if not isinstance(cause, tf.errors.OpError):
            raise
        raise OSError(cause.message) from None
