"""Reader of CIFAR-10's binary version: 3,073-byte records of a label and three planes of 32x32 pixels."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tfaudit.datasets.local_files import LocalFiles
from tfaudit.errors import InputError, one_line
from tfaudit.runtime.regular_files import read_regular

FILES = {"train": [f"data_batch_{i}" for i in range(1, 6)], "test": ["test_batch"]}
"""Names of the files by split, without their ending."""

NAMES = "batches.meta.txt"
RECORD = 1 + 3 * 32 * 32

Columns = Mapping[str, Sequence[Any] | np.ndarray]
"""Features of the examples in a file: "image" and "label", perhaps more."""


def cifar10_files(folder: Path, builder: Any) -> LocalFiles:
    """Read the six files and the class names, with TFDS' own keys and ids and therefore in its order.

    Args:
        folder: folder with `data_batch_1.bin` to `data_batch_5.bin`, `test_batch.bin` and `batches.meta.txt`.
        builder: the TFDS builder of `cifar10`.

    Raises:
        InputError: files are missing or damaged.
    """
    names_file = folder / NAMES
    columns = read_cifar(folder, _read, ".bin", NAMES, version="binary")
    names = names_file.read_text(encoding="utf-8").split()
    if len(names) != 10:
        raise InputError(str(names_file), f"{len(names)} class names", "10")
    features = builder.info.features
    features["label"].names = names
    return numbered_files(features, columns)


def read_cifar(
    folder: Path, read: Callable[[Path], Columns], ending: str, *others: str, version: str
) -> dict[str, list[Columns]]:
    """Return the result of `read` for each file, by split; missing files and missing `others` raise `InputError`."""
    paths = {split: [folder / (name + ending) for name in names] for split, names in FILES.items()}
    needed = [*paths["train"], *paths["test"], *(folder / name for name in others)]
    if missing := [path.name for path in needed if not path.is_file()]:
        got = f"a folder without {', '.join(missing)}"
        raise InputError(str(folder), got, f"the files of CIFAR-10's {version} version")
    return {split: [read(path) for path in files] for split, files in paths.items()}


def numbered_files(features: Any, columns: Mapping[str, Sequence[Columns]]) -> LocalFiles:
    """Return the examples of all files with TFDS' own keys and ids."""
    total = sum(len(file["label"]) for files in columns.values() for file in files)
    splits = {split: _numbered(split, files) for split, files in columns.items()}
    return LocalFiles(features, splits, total)


def _numbered(split: str, files: Sequence[Columns]) -> Iterator[tuple[int, dict[str, Any]]]:
    rows = (row for columns in files for row in zip(*columns.values(), strict=True))
    for i, row in enumerate(rows):
        yield i, {"id": f"{split}_{i:05d}", **dict(zip(files[0], row, strict=True))}


def planes_to_images(planes: np.ndarray) -> np.ndarray:
    """Return rows of three planes of 32 x 32 pixels, `(N, 3072)`, as images `(N, 32, 32, 3)`."""
    return np.ascontiguousarray(planes.reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1))


def _read(path: Path) -> Columns:
    """Return the images, uint8 `(N, 32, 32, 3)`, and the labels, int64 `(N,)`, of one file."""
    try:
        content = np.frombuffer(read_regular(path), np.uint8)
    except OSError as error:
        got = f"an unreadable file ({one_line(error)})"
        raise InputError(str(path), got, "a readable one") from None
    if not content.size or content.size % RECORD:
        expected = f"a multiple of {RECORD}, the size of a record"
        raise InputError(str(path), f"{content.size} bytes", expected)
    records = content.reshape(-1, RECORD)
    labels = records[:, 0].astype(np.int64)
    if labels.max() > 9:
        raise InputError(str(path), f"label {labels.max()}", "labels 0 to 9")
    return {"image": planes_to_images(records[:, 1:]), "label": labels}
