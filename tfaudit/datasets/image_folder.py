"""Reader of a folder of images, one subfolder per class."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tfaudit.datasets.local_files import LocalFiles
from tfaudit.errors import InputError, listed, one_line

SUFFIXES = (".jpg", ".jpeg", ".png")
FORMATS = ("JPEG", "MPO", "PNG")
TEST_SHARE = 0.2
SPLIT_SEED = 0


def image_folder_files(root: Path, builder: None = None) -> LocalFiles:
    """Read the images under `ROOT/SPLIT/CLASS/`, or under `ROOT/CLASS/` with a fifth of every class as `test`.

    The first layout applies where `ROOT/train` holds folders; every other folder in `ROOT` is then a split. Classes are
    the folder names in sorted order. Hidden files and files without a suffix of JPEG or PNG are ignored. The images are
    stored as the files are; the id of each is its path under `root`. TFDS has no builder for the data set.

    Raises:
        InputError: no images, an image that cannot be decoded, a class that `train` lacks, or too few images to split.
    """
    import tensorflow_datasets as tfds

    has_splits = bool(_folders(root / "train"))
    files = {split.name: class_files(split) for split in _folders(root)} if has_splits else _split(root)
    classes = sorted({path.parent.name for path in files["train"]})
    for split, paths in files.items():
        extra = sorted({path.parent.name for path in paths} - set(classes))
        if extra:
            raise InputError(str(root / split), f"classes {listed(extra)}", "classes that 'train' has too")
    if len(classes) < 2:
        raise InputError(str(root), f"{len(classes)} class", "at least 2 folders of images")
    shape = _common_shape([path for paths in files.values() for path in paths])
    image, label = tfds.features.Image(shape=shape), tfds.features.ClassLabel(names=classes)
    features = tfds.features.FeaturesDict({"id": tfds.features.Text(), "image": image, "label": label})
    splits = {split: _examples(root, paths) for split, paths in files.items()}
    return LocalFiles(features, splits, sum(map(len, files.values())))


def class_files(folder: Path) -> list[Path]:
    """Return the images of each class folder, at least one, in sorted order; hidden and other files are skipped."""
    files: list[Path] = []
    for class_folder in _folders(folder):
        images = [p for p in class_folder.iterdir() if p.suffix.lower() in SUFFIXES and not p.name.startswith(".")]
        if not images:
            raise InputError(str(class_folder), "no image", f"files {', '.join(SUFFIXES)}")
        files += sorted(images)
    if not files:
        raise InputError(str(folder), "no class folders", f"{folder}/CLASS/*.jpg")
    return files


def _folders(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    return sorted(path for path in folder.iterdir() if path.is_dir() and not path.name.startswith("."))


def _split(root: Path) -> dict[str, list[Path]]:
    from sklearn.model_selection import train_test_split

    paths = class_files(root)
    classes = [path.parent.name for path in paths]
    try:
        train, test = train_test_split(paths, test_size=TEST_SHARE, random_state=SPLIT_SEED, stratify=classes)
    except ValueError as error:
        got = f"too few images to hold out a fifth of every class ({one_line(error).rstrip('.')})"
        raise InputError(str(root), got, f"more, or {root}/train/CLASS and {root}/test/CLASS") from None
    return {"train": sorted(train), "test": sorted(test)}


def _common_shape(paths: list[Path]) -> tuple[int | None, int | None, int]:
    """Return `(H, W, channels)`, None where sizes differ, one channel if every image is grey. Decodes every image."""
    from PIL import Image

    sizes, modes = set(), set()
    for path in paths:
        try:
            with Image.open(path) as image:
                image.load()
                if image.format not in FORMATS:
                    raise ValueError(f"its format is {image.format}")
                sizes.add(image.size)
                modes.add(image.mode)
        except (OSError, ValueError, SyntaxError) as error:
            raise InputError(str(path), f"an undecodable image ({one_line(error)})", "a JPEG or PNG image") from None
    width, height = sizes.pop() if len(sizes) == 1 else (None, None)
    return height, width, 1 if modes <= {"1", "L", "LA"} else 3


def _examples(root: Path, paths: list[Path]) -> Iterator[tuple[int | str, dict[str, Any]]]:
    for path in paths:
        name = path.relative_to(root).as_posix()
        yield name, {"id": name, "image": str(path), "label": path.parent.name}
