"""Reads the binary version of CIFAR-10: 3,073-byte records of a label and three planes of 32x32 pixels."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tfaudit.datasets.local_files import Source
from tfaudit.errors import InputError

__all__ = ["cifar10_source", "read_cifar10"]

FILES = {"train": [f"data_batch_{i}.bin" for i in range(1, 6)], "test": ["test_batch.bin"]}
NAMES = "batches.meta.txt"
RECORD = 1 + 3 * 32 * 32


def read_cifar10(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Images uint8 `(N, 32, 32, 3)` and labels int64 `(N,)` of one file.

    Raises:
        InputError: The file cannot be read, does not hold whole records, or a label is not in 0..9.
    """
    try:
        content = np.frombuffer(path.read_bytes(), np.uint8)
    except OSError as error:
        raise InputError(f"file {path} cannot be read: {error}") from None
    if not content.size or content.size % RECORD:
        raise InputError(f"file {path} holds {content.size} bytes; it must be a multiple of {RECORD}, one per record")
    records = content.reshape(-1, RECORD)
    labels = records[:, 0].astype(np.int64)
    if labels.max() > 9:
        raise InputError(f"file {path} has a label {labels.max()}; allowed are 0 to 9")
    return records[:, 1:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1), labels


def cifar10_source(folder: Path, builder: Any) -> Source:
    """The six files and the class names, with TFDS' own keys and ids and so its order.

    Args:
        folder: Holds `data_batch_1.bin` to `data_batch_5.bin`, `test_batch.bin` and `batches.meta.txt`.
        builder: The TFDS builder of `cifar10`.

    Raises:
        InputError: Files are missing or damaged.
    """
    missing = [name for name in (*FILES["train"], *FILES["test"], NAMES) if not (folder / name).is_file()]
    if missing:
        raise InputError(f"folder {folder} lacks {', '.join(missing)} of the binary version of CIFAR-10")
    names = (folder / NAMES).read_text(encoding="utf-8").split()
    if len(names) != 10:
        raise InputError(f"file {folder / NAMES} names {len(names)} classes; CIFAR-10 has 10")
    features = builder.info.features
    features["label"].names = names
    read = {split: [read_cifar10(folder / file) for file in files] for split, files in FILES.items()}
    total = sum(len(labels) for parts in read.values() for _, labels in parts)
    return Source(features, {split: _pairs(split, parts) for split, parts in read.items()}, total)


def _pairs(split: str, parts: list[tuple[np.ndarray, np.ndarray]]) -> Iterator[tuple[int, dict[str, Any]]]:
    examples = ((image, label) for images, labels in parts for image, label in zip(images, labels, strict=True))
    for i, (image, label) in enumerate(examples):
        yield i, {"id": f"{split}_{i:05d}", "image": np.ascontiguousarray(image), "label": label}
