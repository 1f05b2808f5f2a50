"""Reads a folder of images, one subfolder a class."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tfaudit.datasets.local_files import Source
from tfaudit.errors import InputError

__all__ = ["TEST_SHARE", "class_files", "folder_source"]

SUFFIXES = (".jpg", ".jpeg", ".png")
FORMATS = ("JPEG", "MPO", "PNG")
TEST_SHARE = 0.2
SPLIT_SEED = 0


def folder_source(root: Path) -> Source:
    """The images under `ROOT/SPLIT/CLASS/`, or under `ROOT/CLASS/` with a fifth of every class set aside as `test`.

    The first layout is taken where `ROOT/train` holds folders; every folder beside it is then a split. Classes are
    the folder names in sorted order. Files whose suffix is not of JPEG or PNG, and hidden ones, are passed over.
    The images are stored as the files are; each carries its path under `root` as its id.

    Raises:
        InputError: No images, an image that cannot be decoded, a class that `train` lacks, or too few images to split.
    """
    import tensorflow_datasets as tfds

    if not root.is_dir():
        raise InputError(f"source {root} is not a folder")
    if _folders(root / "train"):
        files = {split.name: class_files(split) for split in _folders(root)}
    else:
        files = _split(class_files(root), root)
    classes = sorted({path.parent.name for path in files["train"]})
    for split, paths in files.items():
        extra = sorted({path.parent.name for path in paths} - set(classes))
        if extra:
            raise InputError(f"split {split!r} has classes that 'train' lacks: {', '.join(extra)}")
    if len(classes) < 2:
        raise InputError(f"folder {root} holds {len(classes)} class; give at least 2 folders of images")
    shape = _common_shape([path for paths in files.values() for path in paths])
    features = tfds.features.FeaturesDict(
        {
            "id": tfds.features.Text(),
            "image": tfds.features.Image(shape=shape),
            "label": tfds.features.ClassLabel(names=classes),
        }
    )
    splits = {split: _pairs(root, paths) for split, paths in files.items()}
    return Source(features, splits, sum(map(len, files.values())))


def _folders(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    return sorted(path for path in folder.iterdir() if path.is_dir() and not path.name.startswith("."))


def class_files(folder: Path) -> list[Path]:
    """The images of every class folder, classes and files in sorted order; hidden and other files are passed over.

    Raises:
        InputError: no class folders, or one without an image.
    """
    found: list[Path] = []
    for class_folder in _folders(folder):
        files = [p for p in class_folder.iterdir() if p.suffix.lower() in SUFFIXES and not p.name.startswith(".")]
        if not files:
            raise InputError(f"class folder {class_folder} holds no image; allowed are {', '.join(SUFFIXES)}")
        found += sorted(files)
    if not found:
        raise InputError(f"folder {folder} holds no class folders; give {folder}/CLASS/*.jpg")
    return found


def _split(paths: list[Path], root: Path) -> dict[str, list[Path]]:
    from sklearn.model_selection import train_test_split

    classes = [path.parent.name for path in paths]
    try:
        train, test = train_test_split(paths, test_size=TEST_SHARE, random_state=SPLIT_SEED, stratify=classes)
    except ValueError as error:
        raise InputError(
            f"folder {root} has too few images to set a fifth of every class aside ({str(error).rstrip('.')}); "
            f"give {root}/train/CLASS and {root}/test/CLASS"
        ) from None
    return {"train": sorted(train), "test": sorted(test)}


def _common_shape(paths: list[Path]) -> tuple[int | None, int | None, int]:
    """`(H, W, channels)`, `None` where sizes differ; one channel only if every image is grey. Decodes every image."""
    from PIL import Image

    sizes, modes = set(), set()
    for path in paths:
        try:
            with Image.open(path) as image:
                image.load()
                if image.format not in FORMATS:
                    raise ValueError(f"it is {image.format}; allowed are JPEG and PNG")
                sizes.add(image.size)
                modes.add(image.mode)
        except (OSError, ValueError, SyntaxError) as error:
            raise InputError(f"image {path} cannot be decoded: {error}") from None
    width, height = sizes.pop() if len(sizes) == 1 else (None, None)
    return height, width, 1 if modes <= {"1", "L", "LA"} else 3


def _pairs(root: Path, paths: list[Path]) -> Iterator[tuple[int | str, dict[str, Any]]]:
    for path in paths:
        name = path.relative_to(root).as_posix()
        yield name, {"id": name, "image": str(path), "label": path.parent.name}
