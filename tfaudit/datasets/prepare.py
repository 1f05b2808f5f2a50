"""Preparation of local files as a TFDS data set, which `tfds.load(name, download=False)` reads offline."""

import contextlib
import itertools
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from tfaudit.datasets.builders import NOTES, command_for, data_folder, find_builder, is_url
from tfaudit.datasets.catalogue import CATALOGUE, PREPARABLE
from tfaudit.datasets.image_folder import image_folder_files
from tfaudit.datasets.local_files import LocalFiles
from tfaudit.errors import InputError, one_line, require
from tfaudit.runtime.captured_output import quiet_tfds, start_tensorflow

OWN_VERSION = "1.0.0"


def prepare(
    name: str,
    source: str | Path,
    *,
    data_dir: str | Path | None = None,
    recursive: bool = False,
    skip_unreadable: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Path:
    """Prepare the files of a data set so that `load_dataset` and `tfds.load` find them, and return its folder.

    The data set is written to a temporary folder and renamed: an interrupted call leaves nothing that would be loaded,
    and the next call removes it. A data set that is already prepared stays as it is.

    Args:
        name: name of the data set, one of `tfaudit.datasets.catalogue.PREPARABLE`; or a new name for a folder of images
            per class.
        source: the folder of the files: IDX (plain or .gz), CIFAR-10's binary version, QMNIST's labels with MNIST's
            images, or the layouts of `image_folder_files`.
        data_dir: folder of the prepared data sets; by default the variable `TFDS_DATA_DIR` or `~/tensorflow_datasets`.
        recursive: whether class folders may hold further folders of images.
        skip_unreadable: largest number of undecodable images of a folder to leave out; `notes_of` names them.
        progress: function that is called with the number of examples written so far and their total.

    Raises:
        InputError: the name is taken, an option for folders is used with other files, files are missing or damaged, or
            the folder cannot be written.
    """
    files = Path(source).expanduser()
    root = data_folder(data_dir)
    require(not is_url(root), "data_dir", str(root), "a folder of this machine; copy it from there")
    builder = None
    if name in PREPARABLE:
        for option, value in (("recursive", recursive), ("skip_unreadable", skip_unreadable)):
            unset = f"{type(value)()}, as {name!r} is no folder of images"
            require(not value, option, value, unset)
        if CATALOGUE[name].features is None:
            builder = find_builder(name, root)
    else:
        _check_new(name)
    version = OWN_VERSION if builder is None else str(builder.version)
    target = root / name / version
    if (target / "dataset_info.json").is_file():
        return target
    require(files.is_dir(), "source", str(files), "a folder")
    if name in PREPARABLE:
        content = CATALOGUE[name].files(files, builder)  # type: ignore[misc]
    else:
        content = image_folder_files(files, recursive=recursive, skip_unreadable=skip_unreadable)
    prefix = f".prepare-{name.replace('/', '-')}-"
    try:
        root.mkdir(parents=True, exist_ok=True)
        with FileLock(root / f"{prefix}lock", timeout=0):
            for leftover in root.glob(f"{prefix}*/"):
                shutil.rmtree(leftover)
            with tempfile.TemporaryDirectory(prefix=prefix, dir=root) as work:
                write_prepared(name, version, content, builder, Path(work), progress)
                written = Path(work, name, version)
                if content.notes:
                    (written / NOTES).write_text("\n".join(content.notes), encoding="utf-8")
                target.parent.mkdir(parents=True, exist_ok=True)
                written.rename(target)
    except Timeout:
        busy = f"{name!r}, which another process is preparing in {root}"
        expected = "a data set that no other process prepares; wait for it"
        raise InputError("name", busy, expected) from None
    except OSError as error:
        problem = f"{target}, which cannot be written ({one_line(error)})"
        raise InputError("data_dir", problem, "a writable folder") from None
    return target


def _check_new(name: str) -> None:
    """Refuse a name for a folder of images if it is malformed, or that of an embedded data set or one of TFDS."""
    import tensorflow_datasets as tfds

    prepared = ", ".join(PREPARABLE)
    if name in tfds.list_builders(with_community_datasets=False):
        taken = f"{name!r}, which TFDS prepares: {command_for(name)}"
        raise InputError("name", taken, f"one of {prepared}, or a new name")
    valid = re.fullmatch(r"[a-z]\w*", name) is not None and name not in CATALOGUE
    require(valid, "name", name, f"a new name of small letters, digits and _, or one of {prepared}")


def write_prepared(
    name: str,
    version: str,
    content: LocalFiles,
    builder: Any,
    work: Path,
    progress: Callable[[int, int], None] | None = None,
) -> None:
    """Write a data set into a folder as TFDS does, under a builder's configuration if there is one.

    Raises:
        OSError: the folder cannot be written.
    """
    start_tensorflow()
    import tensorflow as tf
    import tensorflow_datasets as tfds

    numbers = itertools.count(1)
    screen = sys.stdout

    def counted(examples: Iterable[Any]) -> Iterator[Any]:
        for example in examples:
            yield example
            done = next(numbers)
            if progress is not None and (done % 1000 == 0 or done == content.total):
                with contextlib.redirect_stdout(screen):  # TFDS is silenced, its caller is not
                    progress(done, content.total)

    try:
        with quiet_tfds():
            tfds.dataset_builders.store_as_tfds_dataset(
                name=name.partition("/")[0],
                version=version,
                config=None if builder is None else builder.builder_config,
                features=content.features,
                split_datasets={
                    split: counted(examples) for split, examples in content.splits.items()
                },
                data_dir=work,
            )
    except (tf.errors.OpError, RuntimeError) as error:
        # TFDS wraps the errors of TensorFlow's file writer, such as a full disk.
        cause = error.__cause__ if isinstance(error.__cause__, tf.errors.OpError) else error
        if not isinstance(cause, tf.errors.OpError):
            raise
        raise OSError(cause.message) from None
