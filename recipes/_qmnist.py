"""Reader of QMNIST: MNIST's digits with NIST's record of each, such as its writer ([P] 4.1)."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tfaudit.datasets.idx import find_idx, read_idx
from tfaudit.datasets.local_files import LocalFiles
from tfaudit.errors import InputError, one_line

COLUMNS = ("label", "series", "writer")
"""The first three of the published labels' eight columns: class, NIST HSF series, writer."""

SERIES = tuple(f"hsf{i}" for i in range(9))
"""hsf0 to hsf3 are employees, hsf4 are students."""

MNIST_NAMES = {"train": "train", "test": "t10k"}


def qmnist_files(folder: Path, builder: None = None) -> LocalFiles:
    """Read images and labels of QMNIST, or MNIST's images with QMNIST's labels; TFDS has no builder for it.

    The labels are `qmnist-SPLIT-labels` as IDX (`.idx2-int`) or text (`.tsv`), the images `qmnist-SPLIT-images` or
    MNIST's own (`train-images`, `t10k-images`), each plain or gzipped. The first 10,000 rows of QMNIST's test labels
    belong to MNIST's test set, so if there are fewer images than rows, the first rows are used. If MNIST's own labels
    are in the folder, they must agree.

    Raises:
        InputError: files are missing or damaged, or do not fit each other.
    """
    parts = {split: _read_split(folder, split) for split in MNIST_NAMES}
    splits = {split: _examples(images, rows) for split, (images, rows) in parts.items()}
    return LocalFiles(qmnist_features(), splits, sum(len(rows) for _, rows in parts.values()))


def qmnist_features() -> Any:
    """Return the TFDS features of an example."""
    import tensorflow_datasets as tfds

    image = tfds.features.Image(shape=(28, 28, 1))
    label = tfds.features.ClassLabel(num_classes=10)
    series = tfds.features.ClassLabel(names=SERIES)
    return tfds.features.FeaturesDict(
        {"image": image, "label": label, "series": series, "writer": np.int64}
    )


def _read_split(folder: Path, split: str) -> tuple[np.ndarray, np.ndarray]:
    mnist = MNIST_NAMES[split]
    place = find_idx(folder, f"qmnist-{split}-images", 3) or find_idx(folder, f"{mnist}-images", 3)
    if place is None:
        missing = f"qmnist-{split}-images or {mnist}-images"
        raise InputError(
            str(folder),
            f"a folder without {missing}",
            "one of these IDX files (-idx3-ubyte or .gz)",
        )
    images, (label_file, rows) = read_idx(place, 3), _read_labels(folder, split)
    if images.shape[1:] != (28, 28):
        raise InputError(str(place), f"images {images.shape[1:]}", "images (28, 28)")
    if len(images) > len(rows):
        raise InputError(
            str(place),
            f"{len(images)} images",
            f"at most {len(rows)}, the rows of {label_file.name}",
        )
    rows = rows[: len(images)]
    if rows.min() < 0 or rows[:, 0].max() > 9 or rows[:, 1].max() >= len(SERIES):
        largest = f"classes up to {rows[:, 0].max()}, series up to {rows[:, 1].max()}, a minimum of {rows.min()}"
        raise InputError(
            str(label_file),
            largest,
            f"classes 0 to 9, series 0 to {len(SERIES) - 1}, nothing below 0",
        )
    own = find_idx(folder, f"{mnist}-labels", 1)
    if own is not None and place.name.startswith(mnist):
        labels = read_idx(own, 1)
        differ = np.flatnonzero(labels != rows[:, 0]) if len(labels) == len(rows) else np.array([0])
        if len(differ):
            raise InputError(
                str(label_file), f"another label in row {differ[0]}", f"the labels of {own}"
            )
    return images, rows


def _read_labels(folder: Path, split: str) -> tuple[Path, np.ndarray]:
    """Return the file of the labels, and class, series and writer, int64 `(N, 3)`."""
    stem = f"qmnist-{split}-labels"
    if (place := find_idx(folder, stem, 2, "int")) is not None:
        rows = read_idx(place, 2, ">i4").astype(np.int64)
    elif texts := [
        path for end in (".tsv", ".tsv.gz") if (path := folder / (stem + end)).is_file()
    ]:
        place = texts[0]
        try:
            rows = pd.read_csv(place, sep="\t", header=None, dtype=np.int64).to_numpy()
        except (OSError, EOFError, ValueError) as error:
            raise InputError(
                str(place), f"an unreadable file ({one_line(error)})", "tab-separated integers"
            ) from None
    else:
        raise InputError(
            str(folder),
            f"a folder without {stem}",
            "that file, .idx2-int or .tsv, plain or gzipped",
        )
    if rows.shape[1] < len(COLUMNS) or not len(rows):
        raise InputError(
            str(place), f"labels {rows.shape}", "rows of 8 columns, as QMNIST's labels have"
        )
    return place, rows[:, : len(COLUMNS)]


def _examples(images: np.ndarray, rows: np.ndarray) -> Iterator[tuple[int, dict[str, Any]]]:
    for i, (image, (label, series, writer)) in enumerate(zip(images, rows, strict=True)):
        yield (
            i,
            {
                "image": image[..., np.newaxis],
                "label": label,
                "series": SERIES[series],
                "writer": writer,
            },
        )
