"""Reader of the IDX files of MNIST and its relatives, plain or gzipped."""

import gzip
import math
import zlib
from pathlib import Path
from typing import IO, Any

import numpy as np

from tfaudit.datasets.local_files import LocalFiles
from tfaudit.errors import InputError, one_line

_MOST = 1100
"""Times that gzip can shrink a file at most."""

TYPE_CODES = {"u1": 8, ">i4": 12}


def read_idx(path: Path, ndim: int, dtype: str = "u1") -> np.ndarray:
    """Read the array in an IDX file; gzip is recognised by its content.

    Layout: two zero bytes, the type code, the number of dimensions, each dimension as a big-endian 32-bit integer,
    then the values in C order.

    Args:
        path: the file.
        ndim: expected number of dimensions: 3 for images, 1 for labels.
        dtype: dtype of the array: "u1", unsigned bytes, or ">i4", 32-bit integers.

    Raises:
        InputError: the file cannot be read, has another magic number, or is shorter or longer than its header says.
    """
    header = 4 + 4 * ndim
    magic = bytes([0, 0, TYPE_CODES[dtype], ndim])
    try:
        with _opened(path) as file:
            start = file.read(header)
            if start[:4] != magic:
                got = f"{start[:4].hex() or 'nothing'} at the start"
                raise InputError(
                    str(path), got, f"{magic.hex()}, the magic number of such an IDX file"
                )
            if len(start) < header:
                raise InputError(
                    str(path),
                    f"a truncated file of {len(start)} bytes",
                    f"a header of {header} bytes",
                )
            shape = tuple(int(size) for size in np.frombuffer(start, ">u4", ndim, offset=4))
            size = math.prod(shape) * np.dtype(dtype).itemsize
            if size > _MOST * path.stat().st_size:  # checked before memory is allocated
                raise InputError(
                    str(path), f"a header of {size} bytes of data", "as many as the file can hold"
                )
            content = file.read(size + 1)
    except (OSError, EOFError, zlib.error) as error:
        problem = f"an unreadable file ({one_line(error)})"
        raise InputError(str(path), problem, "an IDX file, plain or gzipped") from None
    if len(content) != size:
        got = "more" if len(content) > size else str(len(content))
        raise InputError(str(path), f"{got} bytes of data", f"{size}, as its header says")
    return np.frombuffer(content, dtype).reshape(shape)


def _opened(path: Path) -> IO[bytes]:
    if path.exists() and not path.is_file():  # reading a pipe could block for ever
        raise OSError("no regular file")
    with path.open("rb") as file:
        gzipped = file.read(2) == b"\x1f\x8b"
    return gzip.open(path) if gzipped else path.open("rb")  # type: ignore[return-value]


def idx_files(folder: Path, builder: Any) -> LocalFiles:
    """Read the four IDX files of a data set, with TFDS' own keys and therefore in its order.

    Args:
        folder: folder with `train-images-idx3-ubyte` and so on; EMNIST's names begin with `emnist-CONFIG-`.
        builder: the TFDS builder of the data set.

    Raises:
        InputError: files are missing or damaged, or images and labels do not fit each other or the data set.
    """
    config = builder.builder_config
    prefix, test = ("", "t10k") if config is None else (f"emnist-{config.name}-", "test")
    stems = {"train": f"{prefix}train", "test": f"{prefix}{test}"}
    paths = {
        (split, kind): find_idx(folder, f"{stem}-{kind}", ndim)
        for split, stem in stems.items()
        for kind, ndim in (("images", 3), ("labels", 1))
    }
    missing = [f"{stems[split]}-{kind}" for (split, kind), path in paths.items() if path is None]
    if missing:
        got = f"a folder without {', '.join(missing)}"
        raise InputError(str(folder), got, "IDX files (-idx3-ubyte, -idx1-ubyte or .gz)")
    features = builder.info.features
    splits = {}
    total = 0
    for split in stems:
        images = read_idx(paths[split, "images"], 3)[..., np.newaxis]  # type: ignore[arg-type]
        labels = read_idx(paths[split, "labels"], 1).astype(np.int64)  # type: ignore[arg-type]
        _check(f"{folder}, split {split!r}", images, labels, features)
        splits[split] = enumerate(
            {"image": image, "label": label} for image, label in zip(images, labels, strict=True)
        )
        total += len(labels)
    return LocalFiles(features, splits, total)


def find_idx(folder: Path, stem: str, ndim: int, kind: str = "ubyte") -> Path | None:
    """Return the file of a stem under any of the names in use; None if there is none."""
    names = [f"{stem}{dot}idx{ndim}-{kind}{end}" for dot in "-." for end in ("", ".gz")]
    return next((folder / name for name in names if (folder / name).is_file()), None)


def _check(where: str, images: np.ndarray, labels: np.ndarray, features: Any) -> None:
    if len(images) != len(labels) or not len(labels):
        raise InputError(
            where, f"{len(images)} images and {len(labels)} labels", "as many images as labels"
        )
    if images.shape[1:] != tuple(features["image"].shape):
        raise InputError(where, f"images {images.shape[1:]}", f"images {features['image'].shape}")
    classes = features["label"].num_classes
    if labels.max() >= classes:
        raise InputError(where, f"label {labels.max()}", f"labels 0 to {classes - 1}")
