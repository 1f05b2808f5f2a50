"""Reader of a folder of images, one subfolder per class."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tfaudit.datasets.image_files import OTHER_SUFFIXES, SUFFIXES, open_image
from tfaudit.datasets.local_files import LocalFiles
from tfaudit.errors import InputError, listed, one_line, require_least
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

    The first layout applies if `ROOT/train` holds folders; every other folder in `ROOT` is then a split. Classes are
    the folder names in sorted order. Hidden files and files without the suffix of an image are ignored. JPEG and PNG
    files are stored as they are, others as PNG; the id of each is its path under `root`. With `recursive`, images in
    folders within the class folders count as well. At most `skip_unreadable` undecodable images are left out.

    Raises:
        InputError: no images, an image that cannot be decoded, a class that `train` lacks, or too few images to split.
    """
    import tensorflow_datasets as tfds

    has_splits = bool(_folders(root / "train"))
    found = {
        folder.name: class_files(folder, recursive=recursive)
        for folder in (_folders(root) if has_splits else [root])
    }
    usable, notes = readable_files(
        [path for paths in found.values() for path in paths], skip_unreadable, root
    )
    kept = set(usable)
    files = {split: [path for path in paths if path in kept] for split, paths in found.items()}
    folders = [path.relative_to(root).parts[1 if has_splits else 0] for path in usable]
    class_of = dict(zip(usable, clean_names(folders, str(root)), strict=True))
    if not has_splits:
        files = _split(root, usable, [class_of[path] for path in usable])
    classes = _training_classes(root, files, class_of)
    shape = _common_shape(usable)
    image = tfds.features.Image(shape=shape)
    label = tfds.features.ClassLabel(names=classes)
    features = tfds.features.FeaturesDict(
        {"id": tfds.features.Text(), "image": image, "label": label}
    )
    splits = {split: _examples(root, paths, class_of, shape[2]) for split, paths in files.items()}
    return LocalFiles(features, splits, len(usable), notes)


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


def class_files(folder: Path, *, recursive: bool = False) -> list[Path]:
    """Return the images of each class folder, at least one, in sorted order; hidden and other files are skipped.

    With `recursive` the images in folders within the class folders count as well.
    """
    files: list[Path] = []
    for class_folder in _folders(folder):
        places = class_folder.rglob("*") if recursive else class_folder.iterdir()
        images = [path for path in places if path.suffix.lower() in SUFFIXES]
        images = [path for path in images if not _hidden(path.relative_to(class_folder))]
        for path in images:
            try:
                str(path.relative_to(folder)).encode()
            except UnicodeEncodeError:
                expected = "names of classes and images in UTF-8"
                raise InputError(str(path), "a name that is not UTF-8", expected) from None
        if not images:
            expected = f"files {', '.join(SUFFIXES)}"
            if not recursive and _folders(class_folder):
                expected += "; --recursive looks into folders within it"
            raise InputError(str(class_folder), "no image", expected)
        files += sorted(images)
    if not files:
        raise InputError(str(folder), "no class folders", f"{folder}/CLASS/*.jpg")
    return files


def readable_files(files: list[Path], most: int, root: Path) -> tuple[list[Path], tuple[str, ...]]:
    """Return the decodable image files, and notes that name the others, of which there may be `most`.

    Images of formats that are never decoded do not count; a note names those beside the files.

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
    beside = itertools.chain.from_iterable(folder.iterdir() for folder in {f.parent for f in files})
    others = [path for path in beside if path.suffix.lower() in OTHER_SUFFIXES]
    notes = (_left_out(root, list(problems), "unreadable"), _left_out(root, others, "unsupported"))
    return left, tuple(note for note in notes if note)


def _left_out(root: Path, paths: Sequence[Path], kind: str) -> str:
    """Return a note that counts and names the images that are left out; empty if there are none."""
    names = listed([path.relative_to(root).as_posix() for path in sorted(paths)], NAMED)
    are = "image is" if len(paths) == 1 else "images are"
    return f"{len(paths)} {kind} {are} left out: {names}." if paths else ""


def _hidden(path: Path) -> bool:
    return any(part.startswith((".", "__MACOSX")) for part in path.parts)


def _folders(folder: Path) -> list[Path]:
    paths = sorted(folder.iterdir()) if folder.is_dir() else []
    return [path for path in paths if path.is_dir() and not _hidden(Path(path.name))]


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
