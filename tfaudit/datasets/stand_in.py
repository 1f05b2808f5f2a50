"""Stand-ins for data sets that are not at hand: few examples, in the files that TensorFlow Datasets would write."""

import contextlib
import io
import itertools
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, UnidentifiedImageError

from tfaudit.datasets.builders import data_folder, find_builder, is_url, not_prepared
from tfaudit.datasets.catalogue import base_name, catalogue_entry
from tfaudit.datasets.features import choose_features
from tfaudit.datasets.loading import IN_MEMORY_VARIABLE, PreparedData, data_source
from tfaudit.datasets.local_files import LocalFiles
from tfaudit.datasets.mock import mock_builder
from tfaudit.datasets.prepare import OWN_VERSION, write_prepared
from tfaudit.errors import InputError, require

SIZE = 500, 375
"""Width and height of images whose size varies: the most frequent size in ImageNet, and nearly its mean."""

QUALITY = 90

GRAIN = 3
"""Pixels between two random values of noise: its JPEGs have 113 kB, as those of ImageNet have on average."""

LARGE = 64
"""Data sets of images with a longer side are too large for the memory, and so are read as streams."""


@contextlib.contextmanager
def stand_ins(
    names: Sequence[str], folder: Path, counts: Mapping[str, int], photographs: Path | None = None
) -> Iterator[list[str]]:
    """Yield the names of data sets that are not at hand, while stand-ins for them are: also for child processes.

    Within the block `TFDS_DATA_DIR` is the folder, which also has links to the data sets that are at hand.

    Args:
        names: names of data sets, as for `load_dataset`.
        folder: an empty folder for the stand-ins.
        counts: number of examples of the training set, "train", and of the set to test on, "test".
        photographs: folder of JPEGs that serve as images; noise by default.

    Raises:
        InputError: an unknown name, no JPEG in the folder, or a damaged one.
        OSError: the folder cannot be written.
    """
    missing = _missing(names)
    if not missing:
        yield []
        return
    at_hand = data_folder()
    if is_url(at_hand):
        raise not_prepared("dataset", missing[0].name)
    contents = _photographs(photographs)
    bases = {_base(source.name) for source in missing}
    for path in at_hand.iterdir() if at_hand.is_dir() else ():
        if path.name not in bases:
            (folder / path.name).symlink_to(path.absolute())
    for source in missing:
        _write(source, folder, counts, contents)
    large = any((side or math.inf) > LARGE for one in missing for side in one.image_shape[:2])
    with _environment(
        {"TFDS_DATA_DIR": str(folder)} | ({IN_MEMORY_VARIABLE: "0"} if large else {})
    ):
        yield [source.name for source in missing]


@contextlib.contextmanager
def _environment(changed: Mapping[str, str]) -> Iterator[None]:
    """Set environment variables within a block."""
    before = {name: os.environ.get(name) for name in changed}
    os.environ.update(changed)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name)
            if value is not None:
                os.environ[name] = value


def _missing(names: Sequence[str]) -> list[PreparedData]:
    """Return the data sets that are not at hand; with one configuration of a set, its others."""
    sources = [data_source(name) for name in dict.fromkeys(names)]
    bases = {_base(source.name) for source in sources if not source.is_available()}
    return [
        source
        for source in sources
        if isinstance(source, PreparedData) and _base(source.name) in bases
    ]


def _base(name: str) -> str:
    """Return the name of the folder with all configurations of a data set."""
    return base_name(name).partition("/")[0]


def _photographs(folder: Path | None) -> list[Path]:
    if folder is None:
        return []
    paths = sorted(path for path in folder.glob("*") if path.suffix.lower() in (".jpg", ".jpeg"))
    require(bool(paths), "photographs", str(folder), "a folder with JPEGs, *.jpg or *.jpeg")
    return paths


def _write(
    source: PreparedData, folder: Path, counts: Mapping[str, int], photographs: Sequence[Path]
) -> None:
    """Write the training set and the test set of a stand-in."""
    name, entry = source.name, catalogue_entry(source.name)
    builder = None if entry.features else find_builder(name)
    mock = mock_builder(name, None)
    sizes = {"train": counts["train"], source.test_split: counts["test"]}
    splits = {split: _examples(mock, split, count, photographs) for split, count in sizes.items()}
    content = LocalFiles(mock.features, splits, sum(sizes.values()))
    version = OWN_VERSION if builder is None else str(builder.version)
    write_prepared(name, version, content, builder, folder)


def _examples(
    mock: Any, split: str, count: int, photographs: Sequence[Path]
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield numbered examples of a split, with photographs or noise of SIZE where a mock has tiny images."""
    key = choose_features(mock.name, mock.features, catalogue_entry(mock.name)).image
    height, width, channels = mock.features[key].shape
    mode = "L" if channels == 1 else "RGB"
    draw = np.random.default_rng(0)
    paths = itertools.cycle(photographs or [None])
    for i, example in enumerate(mock.examples(split, count)):
        path = next(paths)
        if path is not None or height is None or width is None:
            image = _noise(draw) if path is None else _photograph(path)
            if height is None or width is None:
                example[key] = _jpeg(image.convert(mode))
            else:
                pixels = np.asarray(image.convert(mode).resize((width, height)))
                example[key] = pixels.reshape(height, width, channels)
        yield i, example


def _photograph(path: Path) -> Image.Image:
    """Return a photograph with as many pixels as SIZE has."""
    try:
        image = Image.open(path).convert("RGB")
    except (OSError, UnidentifiedImageError):
        raise InputError("photographs", f"{path}, a damaged image", "JPEGs") from None
    scale = math.sqrt(math.prod(SIZE) / (image.width * image.height))
    return image.resize((round(scale * image.width), round(scale * image.height)))


def _noise(draw: np.random.Generator) -> Image.Image:
    width, height = (side // GRAIN + 1 for side in SIZE)
    return Image.fromarray(draw.integers(0, 256, (height, width, 3), np.uint8)).resize(SIZE)


def _jpeg(image: Image.Image) -> io.BytesIO:
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=QUALITY)
    buffer.seek(0)
    return buffer
