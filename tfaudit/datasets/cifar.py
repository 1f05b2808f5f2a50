"""Reader of CIFAR-10's binary version: 3,073-byte records of a label and three planes of 32x32 pixels."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tfaudit.datasets.local_files import LocalFiles
from tfaudit.errors import InputError, one_line

FILES = {"train": [f"data_batch_{i}.bin" for i in range(1, 6)], "test": ["test_batch.bin"]}
NAMES = "batches.meta.txt"
RECORD = 1 + 3 * 32 * 32


def cifar10_files(folder: Path, builder: Any) -> LocalFiles:
    """Read the six files and the class names, with TFDS' own keys and ids and therefore in its order.

    Args:
        folder: holds `data_batch_1.bin` to `data_batch_5.bin`, `test_batch.bin` and `batches.meta.txt`.
        builder: the TFDS builder of `cifar10`.

    Raises:
        InputError: files are missing or damaged.
    """
    missing = [
        name for name in (*FILES["train"], *FILES["test"], NAMES) if not (folder / name).is_file()
    ]
    if missing:
        got = f"a folder without {', '.join(missing)}"
        raise InputError(str(folder), got, "the files of CIFAR-10's binary version")
    names = (folder / NAMES).read_text(encoding="utf-8").split()
    if len(names) != 10:
        raise InputError(str(folder / NAMES), f"{len(names)} class names", "10")
    features = builder.info.features
    features["label"].names = names
    parts = {split: [_read(folder / file) for file in files] for split, files in FILES.items()}
    total = sum(len(labels) for arrays in parts.values() for _, labels in arrays)
    return LocalFiles(
        features, {split: _examples(split, arrays) for split, arrays in parts.items()}, total
    )


def _read(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return the images, uint8 `(N, 32, 32, 3)`, and the labels, int64 `(N,)`, of one file."""
    try:
        content = np.frombuffer(path.read_bytes(), np.uint8)
    except OSError as error:
        raise InputError(
            str(path), f"an unreadable file ({one_line(error)})", "a readable one"
        ) from None
    if not content.size or content.size % RECORD:
        raise InputError(
            str(path), f"{content.size} bytes", f"a multiple of {RECORD}, the size of a record"
        )
    records = content.reshape(-1, RECORD)
    labels = records[:, 0].astype(np.int64)
    if labels.max() > 9:
        raise InputError(str(path), f"label {labels.max()}", "labels 0 to 9")
    return records[:, 1:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1), labels


def _examples(
    split: str, parts: list[tuple[np.ndarray, np.ndarray]]
) -> Iterator[tuple[int, dict[str, Any]]]:
    examples = (
        (image, label)
        for images, labels in parts
        for image, label in zip(images, labels, strict=True)
    )
    for i, (image, label) in enumerate(examples):
        yield i, {"id": f"{split}_{i:05d}", "image": np.ascontiguousarray(image), "label": label}
