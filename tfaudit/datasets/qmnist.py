"""Reads QMNIST: MNIST's digits with what NIST recorded of them, the writer above all ([P] 4.1)."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tfaudit.datasets.idx import find_idx, read_idx
from tfaudit.datasets.local_files import Source
from tfaudit.errors import InputError, one_line

__all__ = ["qmnist_features", "qmnist_source"]

COLUMNS = ("label", "series", "writer")
"""Of the published labels' eight columns the first three: class, NIST HSF series, writer."""

SERIES = ("hsf0", "hsf1", "hsf2", "hsf3", "hsf4", "hsf5", "hsf6", "hsf7", "hsf8")
"""hsf0 to hsf3 are employees, hsf4 are students."""

MNIST_NAMES = {"train": "train", "test": "t10k"}


def qmnist_source(folder: Path) -> Source:
    """Images and labels of QMNIST, or MNIST's images with QMNIST's labels.

    The labels are `qmnist-SPLIT-labels` as IDX (`.idx2-int`) or text (`.tsv`), the images `qmnist-SPLIT-images` or
    MNIST's own (`train-images`, `t10k-images`), each plain or gzipped. The first 10,000 rows of QMNIST's test labels
    belong to MNIST's test set, so fewer images than rows take the first rows. Where MNIST's own labels are there too,
    they must agree.

    Raises:
        InputError: Files are missing or damaged, or do not fit each other.
    """
    splits: dict[str, Any] = {}
    total = 0
    for split in MNIST_NAMES:
        images, rows = _read_split(folder, split)
        splits[split] = _pairs(images, rows)
        total += len(rows)
    return Source(qmnist_features(), splits, total)


def qmnist_features() -> Any:
    """The TFDS features of an example."""
    import tensorflow_datasets as tfds

    return tfds.features.FeaturesDict(
        {
            "image": tfds.features.Image(shape=(28, 28, 1)),
            "label": tfds.features.ClassLabel(num_classes=10),
            "series": tfds.features.ClassLabel(names=SERIES),
            "writer": np.int64,
        }
    )


def _read_split(folder: Path, split: str) -> tuple[np.ndarray, np.ndarray]:
    mnist = MNIST_NAMES[split]
    place = find_idx(folder, f"qmnist-{split}-images", 3) or find_idx(folder, f"{mnist}-images", 3)
    if place is None:
        raise InputError(f"folder {folder} lacks qmnist-{split}-images or {mnist}-images (-idx3-ubyte or .gz)")
    images, rows = read_idx(place, 3), _read_labels(folder, split)
    if images.shape[1:] != (28, 28):
        raise InputError(f"images of {place} are {images.shape[1:]}; digits have (28, 28)")
    if len(images) > len(rows):
        raise InputError(f"{place} holds {len(images)} images, and the labels of split {split!r} only {len(rows)} rows")
    rows = rows[: len(images)]
    if rows.min() < 0 or rows[:, 0].max() > 9 or rows[:, 1].max() >= len(SERIES):
        raise InputError(f"labels of split {split!r} go beyond class 9 or series {len(SERIES) - 1}, or below 0")
    own = find_idx(folder, f"{mnist}-labels", 1)
    if own is not None and place.name.startswith(mnist):
        labels = read_idx(own, 1)
        differ = np.flatnonzero(labels != rows[:, 0]) if len(labels) == len(rows) else np.array([0])
        if len(differ):
            raise InputError(f"labels of split {split!r} are not those of {own} (first at row {differ[0]})")
    return images, rows


def _read_labels(folder: Path, split: str) -> np.ndarray:
    """Class, series and writer, int64 `(N, 3)`."""
    stem = f"qmnist-{split}-labels"
    if (place := find_idx(folder, stem, 2, "int")) is not None:
        rows = read_idx(place, 2, ">i4").astype(np.int64)
    elif texts := [path for end in (".tsv", ".tsv.gz") if (path := folder / (stem + end)).is_file()]:
        place = texts[0]
        try:
            rows = pd.read_csv(place, sep="\t", header=None, dtype=np.int64).to_numpy()
        except (OSError, EOFError, ValueError) as error:
            raise InputError(f"file {place} cannot be read: {one_line(error)}") from None
    else:
        raise InputError(f"folder {folder} lacks {stem} (.idx2-int or .tsv, plain or gzipped)")
    if rows.shape[1] < len(COLUMNS) or not len(rows):
        raise InputError(f"file {place} has shape {rows.shape}; QMNIST's labels have 8 columns")
    return rows[:, : len(COLUMNS)]


def _pairs(images: np.ndarray, rows: np.ndarray) -> Any:
    for i, (image, (label, series, writer)) in enumerate(zip(images, rows, strict=True)):
        yield i, {"image": image[..., np.newaxis], "label": label, "series": SERIES[series], "writer": writer}
