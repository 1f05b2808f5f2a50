"""Reads the IDX files of MNIST and its relatives, plain or gzipped."""

import gzip
import math
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from tfaudit.datasets.local_files import Source
from tfaudit.errors import InputError

__all__ = ["find_idx", "idx_source", "read_idx"]

TYPE_CODES = {"u1": 8, ">i4": 12}


def read_idx(path: Path, ndim: int, dtype: str = "u1") -> np.ndarray:
    """The array in an IDX file.

    Layout: two zero bytes, the type code, the number of dimensions, each dimension as a big-endian 32-bit integer,
    then the values in C order.

    Args:
        path: The file; gzip is recognised by its content.
        ndim: Dimensions expected: 3 for images, 1 for labels.
        dtype: "u1", unsigned bytes, or ">i4", 32-bit integers.

    Returns:
        An array of that type and so many dimensions.

    Raises:
        InputError: The file cannot be read, has another magic number, or is shorter or longer than its header says.
    """
    try:
        content = path.read_bytes()
        if content[:2] == b"\x1f\x8b":
            content = gzip.decompress(content)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"file {path} cannot be read: {error}") from None
    magic = bytes([0, 0, TYPE_CODES[dtype], ndim])
    if content[:4] != magic:
        raise InputError(f"file {path} begins with {content[:4].hex()}; an IDX file of it begins with {magic.hex()}")
    header = 4 + 4 * ndim
    if len(content) < header:
        raise InputError(f"file {path} is truncated: {len(content)} bytes where the header alone takes {header}")
    shape = tuple(int(size) for size in np.frombuffer(content, ">u4", ndim, offset=4))
    size = math.prod(shape) * np.dtype(dtype).itemsize
    if len(content) - header != size:
        raise InputError(f"file {path} holds {len(content) - header} bytes of data where its header says {size}")
    return np.frombuffer(content, dtype, offset=header).reshape(shape)


def idx_source(folder: Path, builder: Any) -> Source:
    """The four IDX files of a set as its TFDS builder would read them, with TFDS' own keys and so its order.

    Args:
        folder: Holds `train-images-idx3-ubyte` and so on, or with EMNIST's `emnist-CONFIG-` before each name.
        builder: The TFDS builder of the set.

    Raises:
        InputError: Files are missing or damaged, or images and labels do not fit each other or the set.
    """
    prefix, test = (
        ("", "t10k") if builder.builder_config is None else (f"emnist-{builder.builder_config.name}-", "test")
    )
    stems = {"train": f"{prefix}train", "test": f"{prefix}{test}"}
    paths = {
        (split, kind): find_idx(folder, f"{stem}-{kind}", ndim)
        for split, stem in stems.items()
        for kind, ndim in (("images", 3), ("labels", 1))
    }
    missing = [f"{stems[split]}-{kind}" for (split, kind), path in paths.items() if path is None]
    if missing:
        raise InputError(f"folder {folder} lacks the IDX files {', '.join(missing)} (-idx3-ubyte, -idx1-ubyte or .gz)")
    features = builder.info.features
    splits: dict[str, Any] = {}
    total = 0
    for split in stems:
        images = read_idx(paths[split, "images"], 3)[..., np.newaxis]  # type: ignore[arg-type]
        labels = read_idx(paths[split, "labels"], 1).astype(np.int64)  # type: ignore[arg-type]
        _check(split, images, labels, features)
        splits[split] = _pairs(images, labels)
        total += len(labels)
    return Source(features, splits, total)


def find_idx(folder: Path, stem: str, ndim: int, kind: str = "ubyte") -> Path | None:
    """The file of that stem, under any of the names it is handed round with; None where there is none."""
    names = [f"{stem}{dot}idx{ndim}-{kind}{end}" for dot in "-." for end in ("", ".gz")]
    return next((folder / name for name in names if (folder / name).is_file()), None)


def _check(split: str, images: np.ndarray, labels: np.ndarray, features: Any) -> None:
    if len(images) != len(labels) or not len(labels):
        raise InputError(f"split {split!r} has {len(images)} images and {len(labels)} labels; give as many of each")
    if images.shape[1:] != tuple(features["image"].shape):
        raise InputError(f"images of split {split!r} are {images.shape[1:]}; the set has {features['image'].shape}")
    classes = features["label"].num_classes
    if labels.max() >= classes:
        raise InputError(f"labels of split {split!r} go up to {labels.max()}; allowed are 0 to {classes - 1}")


def _pairs(images: np.ndarray, labels: np.ndarray) -> Any:
    return ((i, {"image": image, "label": label}) for i, (image, label) in enumerate(zip(images, labels, strict=True)))
