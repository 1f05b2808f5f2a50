"""Reader of a folder of images, one subfolder per class."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tfaudit.datasets.class_folders import (
    ClassFolders,
    notes_on_files,
    notes_on_order,
    read_class_folders,
    split_folders,
    subfolders,
)
from tfaudit.datasets.image_files import open_image
from tfaudit.datasets.local_files import LocalFiles
from tfaudit.errors import InputError, listed, one_line, plural, require_least
from tfaudit.runtime.names import clean_name, clean_names

STORED_AS_THEY_ARE = ("JPEG", "MPO", "PNG")
GREY = {"1", "L", "LA"}
TEST_SHARE = 0.2
SPLIT_SEED = 0
NAMED = 100  # largest number of files that a note names


def image_folder_files(
    root: Path, *, recursive: bool = False, skip_unreadable: int = 0
) -> LocalFiles:
    """Read the images under `ROOT/SPLIT/CLASS/`, or under `ROOT/CLASS/` with a fifth of every class as `test`.

    The first layout applies if a folder that is called like a split holds folders; every other folder in `ROOT` is then
    a split. Classes are the folder names in the order of text. JPEG and PNG files are stored as they are, others as
    PNG; the id of each is its path under `root`. With `recursive`, images in folders within the class folders count as
    well. At most `skip_unreadable` undecodable images are left out; a note counts the files that are no images.

    Raises:
        InputError: no images, an image that cannot be decoded, a class with more than a tenth of other files, no split
            `train`, a class that it lacks, or too few images to split.
    """
    import tensorflow_datasets as tfds

    has_splits, found = _class_folders(root, recursive, skip_unreadable)
    paths = itertools.chain.from_iterable(class_folders.paths for class_folders in found.values())
    usable, notes = readable_files([*paths], skip_unreadable, root)
    files = {split: sorted({*usable}.intersection(of.paths)) for split, of in found.items()}
    names = [path.relative_to(root).parts[1 if has_splits else 0] for path in usable]
    class_of = dict(zip(usable, clean_names(names, str(root)), strict=True))
    if not has_splits:
        files = _split(root, usable, [class_of[path] for path in usable])
    classes = _training_classes(root, files, class_of)
    notes += (*notes_on_files([*found.values()]), *notes_on_order(classes))
    shape = _common_shape(usable)
    image = tfds.features.Image(shape=shape)
    label = tfds.features.ClassLabel(names=classes)
    features = tfds.features.FeaturesDict(
        {"id": tfds.features.Text(), "image": image, "label": label}
    )
    examples = {split: _examples(root, paths, class_of, shape[2]) for split, paths in files.items()}
    return LocalFiles(features, examples, len(usable), notes)


def _class_folders(
    root: Path, recursive: bool, skip_unreadable: int
) -> tuple[bool, dict[str, ClassFolders]]:
    """Return whether a folder holds splits, and the class folders of each, or those of `root`."""
    splits = split_folders(root, "train")
    if splits and "train" not in splits:
        got = f"splits {listed([*splits])}"
        raise InputError(str(root), got, "a split that is called train; rename its folder")
    folders = subfolders(root) if splits else [root]
    found = {folder.name: read_class_folders(folder, recursive=recursive) for folder in folders}
    for split, class_folders in found.items():
        of_training = found["train"].images if splits and split != "train" else ()
        class_folders.require_images(skip_unreadable, of_training)
    return bool(splits), found


def _training_classes(
    root: Path, files: Mapping[str, Sequence[Path]], class_of: Mapping[Path, str]
) -> list[str]:
    """Return the classes of the training images; raise `InputError` for too few, or if another split has others."""
    classes = sorted({class_of[path] for path in files["train"]})
    for split, paths in files.items():
        if extra := sorted({class_of[path] for path in paths} - set(classes)):
            got = f"classes {listed(extra)}"
            raise InputError(str(root / split), got, "classes that 'train' has too")
    if len(classes) < 2:
        raise InputError(str(root), f"{len(classes)} class", "at least 2 folders of images")
    return classes


def readable_files(files: list[Path], most: int, root: Path) -> tuple[list[Path], tuple[str, ...]]:
    """Return the decodable image files, and a note that names the others, of which there may be `most`.

    Args:
        files: image files under `root`, whose names in the note are relative to it.
        most: largest number of files that may be left out. With 0 nothing is decoded here.
        root: the folder of all files.

    Raises:
        InputError: more than `most` files are undecodable, or all are.
    """
    require_least(0, skip_unreadable=most)
    problems: dict[Path, InputError] = {}
    for path in files if most else []:
        try:
            with open_image(path) as image:
                image.load()
        except InputError as error:
            problems[path] = error
    if len(problems) > most:
        first = next(iter(problems.values()))
        raise InputError(
            first.argument, f"{first.got}, one of {len(problems)} such files", first.expected
        )
    left = [path for path in files if path not in problems]
    if not left:
        raise InputError(str(root), "no readable image", "one or more")
    names = listed([path.relative_to(root).as_posix() for path in sorted(problems)], NAMED)
    are = "is" if len(problems) == 1 else "are"
    note = f"{plural(len(problems), 'unreadable image')} {are} left out: {names}."
    return left, (note,) if problems else ()


def _split(root: Path, paths: list[Path], classes: list[str]) -> dict[str, list[Path]]:
    from sklearn.model_selection import train_test_split

    try:
        train, test = train_test_split(
            paths, test_size=TEST_SHARE, random_state=SPLIT_SEED, stratify=classes
        )
    except ValueError as error:
        got = f"too few images to hold out a fifth of every class ({one_line(error).rstrip('.')})"
        raise InputError(
            str(root), got, f"more, or {root}/train/CLASS and {root}/test/CLASS"
        ) from None
    return {"train": sorted(train), "test": sorted(test)}


def _common_shape(paths: list[Path]) -> tuple[int | None, int | None, int]:
    """Decode every image; return `(H, W, channels)`, None for sizes that differ, one channel if all images are grey."""
    sizes = set()
    channels = 1
    for path in paths:
        with open_image(path) as image:
            image.load()
            sizes.add(image.size)
            if image.mode not in GREY:
                channels = 3
    width, height = sizes.pop() if len(sizes) == 1 else (None, None)
    return height, width, channels


def _examples(
    root: Path, paths: list[Path], class_of: Mapping[Path, str], channels: int
) -> Iterator[tuple[int | str, dict[str, Any]]]:
    for path in paths:
        name = path.relative_to(root).as_posix()
        stored: str | np.ndarray = str(path)
        with open_image(path) as image:  # the name need not tell the format
            if image.format not in STORED_AS_THEY_ARE:
                pixels = np.asarray(image.convert("L" if channels == 1 else "RGB"))
                stored = pixels.reshape(image.height, image.width, channels)
        yield name, {"id": clean_name(name), "image": stored, "label": class_of[path]}
