"""Folders of images: the splits, the class folders of a split, and the files of every class."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from tfaudit.datasets.image_files import EXPECTED, is_image
from tfaudit.errors import InputError, listed, one_line, plural
from tfaudit.runtime.names import clean_name

_SPLIT = re.compile(
    r"(seg|data|images)?[\W_]*"
    r"(train|training|trainval|val|valid|validation|dev|test|testing|eval|evaluation|holdout)"
    r"[\W_]*(set|data|images)?[\W_]*\d*",
    re.IGNORECASE,
)
"""Names that people give to splits, such as `Train`, `valid`, `test_set` and `seg_test`."""

_JUNK = {"__macosx", "thumbs.db", "ehthumbs.db", "desktop.ini", "@eadir", "$recycle.bin", "icon\r"}
"""Names, in small letters, of what systems leave in folders; names that begin with a dot are hidden."""

_BESIDE_IMAGES = {
    *(".txt", ".xml", ".json", ".jsonl", ".csv", ".tsv", ".md", ".yaml", ".yml", ".toml", ".ini"),
    *(".html", ".log", ".py", ".ipynb"),
}
"""Suffixes of annotations and other texts: leaving them out loses no image."""

MOST_LEFT_OUT = 0.1
"""Largest share of the files of a class that is left out without being asked for."""


@dataclass(frozen=True)
class ClassFolders:
    """The images in the class folders of a split, and the files that are left out.

    Attributes:
        folder: folder of the class folders.
        images: sorted paths of the images of every class, by name of its folder, in the order of the names as text.
        unread: files in class folders that are no images in a format that is read.
        nested: images in folders within class folders, unless these are read.
        beside: images beside the class folders.
    """

    folder: Path
    images: dict[str, list[Path]]
    unread: list[Path]
    nested: list[Path]
    beside: list[Path]

    @property
    def paths(self) -> list[Path]:
        """The images of all classes, class by class."""
        return [path for paths in self.images.values() for path in paths]

    def require_images(self, most: int, elsewhere: Collection[str] = ()) -> None:
        """Raise an `InputError` if a class has no image, or if more than a tenth of its files is left out.

        Args:
            most: number of files that may be left out, however large their share. Texts do not count.
            elsewhere: names of classes with images in other splits; their folders may be empty.
        """
        lost: dict[str, list[Path]] = {name: [] for name in (*self.images, "")}
        for path in (*self.unread, *self.nested, *self.beside):
            if path.suffix.lower() not in _BESIDE_IMAGES:
                lost[self.class_of(path)].append(path)
        count = sum(map(len, lost.values()))
        for name, images in (*self.images.items(), ("", self.paths)):
            total = len(lost[name]) + len(images)
            if not images and (lost[name] or name not in elsewhere):
                self._refuse(name, lost[name], total)
            elif count > most and len(lost[name]) > MOST_LEFT_OUT * total:
                leave = f"; --skip-unreadable {count} leaves all such files out"
                self._refuse(name, lost[name], total, leave)

    def _refuse(self, name: str, lost: Sequence[Path], total: int, leave: str = "") -> NoReturn:
        """Raise an `InputError` for a class that loses some of its files, or has none."""
        got = f"{len(lost):,} of {plural(total, 'file')} that would be left out: {_kinds(lost)}"
        nested = {*lost}.intersection(self.nested)
        within = ", or --recursive for those in folders within it" if nested else ""
        expected = f"{EXPECTED}{within}{leave}"
        raise InputError(str(self.folder / name), got if lost else "no image", expected)

    def class_of(self, path: Path) -> str:
        """Return the name of the class folder that holds a file; empty for a file beside the class folders."""
        first, *rest = path.relative_to(self.folder).parts
        return first if rest else ""


def is_split(name: str) -> bool:
    """Return whether a folder has a name that people give to splits.

    Example:
        >>> [is_split(name) for name in ("Train", "valid", "test_set", "seg_test", "dev2", "bullet_train")]
        [True, True, True, True, True, False]
    """
    return _SPLIT.fullmatch(name) is not None


def subfolders(folder: Path) -> list[Path]:
    """Return the folders in a folder, behind links too, sorted by name; hidden ones and junk are ignored.

    Raises:
        InputError: a folder that cannot be read, or a link that leads nowhere.
    """
    try:
        paths = sorted(path for path in folder.iterdir() if not _is_junk(path.name))
    except OSError as error:
        _cannot_read(error)
    for path in paths:
        if path.is_symlink() and not path.exists():
            raise InputError(str(path), "a link that leads nowhere", "a link to a folder or file")
    return [path for path in paths if path.is_dir()]


def split_folders(root: Path, split: str) -> dict[str, Path]:
    """Return the folders of the splits in `root` by name; none if `root` holds class folders.

    A folder of folders is a split if its name is `split` or one that people give to splits.

    Raises:
        InputError: a folder has the name of a split, and no split holds class folders. `train` beside folders of
            other names is a class: of vehicles.
    """
    folders = subfolders(root)
    named = {path.name: path for path in folders if path.name == split or is_split(path.name)}
    splits = {name: path for name, path in named.items() if subfolders(path)}
    train_is_class = [name.lower() for name in named] == ["train"] and len(folders) > 1
    if named and not splits and not train_is_class:
        got = f"{listed([*named])} without class folders"
        raise InputError(str(root), got, f"{root}/SPLIT/CLASS/*.jpg, or {root}/CLASS/*.jpg")
    return splits


def read_class_folders(folder: Path, *, recursive: bool = False) -> ClassFolders:
    """List the images in the class folders of a folder; links are followed, hidden files and junk are ignored.

    Args:
        folder: folder of the class folders.
        recursive: whether to read folders within the class folders.

    Raises:
        InputError: no class folders, a split within a class folder, or a name that is not UTF-8.
    """
    found = ClassFolders(folder, {}, [], [], [])
    for class_folder in subfolders(folder):
        if is_split(class_folder.name) and subfolders(class_folder):
            got = f"the split {class_folder.name} within it"
            raise InputError(str(folder), got, f"{folder}/CLASS/*.jpg")
        images = found.images[class_folder.name] = []
        for path in _files_within(class_folder):
            if not is_image(path):
                found.unread.append(path)
                continue
            _check_place(path, class_folder)
            is_read = recursive or path.parent == class_folder
            (images if is_read else found.nested).append(path)
        images.sort()
    if not found.images:
        raise InputError(str(folder), "no class folders", f"{folder}/CLASS/*.jpg")
    files = (path for path in sorted(folder.iterdir()) if not _is_junk(path.name))
    found.beside.extend(path for path in files if is_image(path))
    return found


def notes_on_files(found: Sequence[ClassFolders]) -> tuple[str, ...]:
    """Return a note that counts the files that are left out, by suffix and by place; none if there are none."""
    unread = [path for folders in found for path in folders.unread]
    nested = sum(len(folders.nested) for folders in found)
    beside = sum(len(folders.beside) for folders in found)
    count = len(unread) + nested + beside
    parts = (
        _kinds(unread),
        f"{plural(nested, 'image')} in folders within class folders, which --recursive reads"
        if nested
        else "",
        f"{plural(beside, 'image')} beside the class folders" if beside else "",
    )
    are = "is" if count == 1 else "are"
    parts_of = "; ".join(filter(None, parts))
    return (f"{plural(count, 'file')} {are} left out: {parts_of}.",) if count else ()


def notes_on_order(names: Sequence[str]) -> tuple[str, ...]:
    """Return a note that class numbers follow the names as text, if their numbers have another order.

    Example:
        >>> notes_on_order(["1", "10", "2"])[0]
        'Classes are numbered in the order of their folders as text (1, 10, 2), as Keras numbers folders.'
        >>> notes_on_order(["01", "02", "10"]), notes_on_order(["cat", "dog"])
        ((), ())
    """
    if [*names] == sorted(names, key=_with_numbers):
        return ()
    shown = listed(names)
    return (
        f"Classes are numbered in the order of their folders as text ({shown}), as Keras numbers folders.",
    )


def _with_numbers(name: str) -> list[tuple[int, str]]:
    return [
        (int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", name)
    ]


def _is_junk(name: str) -> bool:
    return name.startswith(".") or name.lower() in _JUNK


def _files_within(folder: Path) -> Iterator[Path]:
    """Yield the files in a folder and in those within it, each folder once, and none above it, whatever links say."""
    seen = {*map(str, Path(os.path.realpath(folder)).parents)}
    for place, folders, names in os.walk(folder, followlinks=True, onerror=_cannot_read):
        real = os.path.realpath(place)
        if real in seen:
            folders.clear()
            continue
        seen.add(real)
        folders[:] = sorted(name for name in folders if not _is_junk(name))
        yield from (Path(place, name) for name in sorted(names) if not _is_junk(name))


def _check_place(path: Path, class_folder: Path) -> None:
    """Raise an `InputError` for an image in a split within a class folder, or for a name that is not UTF-8."""
    split = next(filter(is_split, path.relative_to(class_folder).parts[:-1]), None)
    if split is not None:
        got = f"the split {split} within a class folder"
        raise InputError(str(class_folder), got, f"{class_folder.parent}/SPLIT/CLASS/*.jpg")
    try:
        str(path.relative_to(class_folder.parent)).encode()
    except UnicodeEncodeError:
        expected = "names of classes and images in UTF-8"
        raise InputError(str(path), "a name that is not UTF-8", expected) from None


def _kinds(paths: Iterable[Path]) -> str:
    """Count files by suffix, the most frequent first."""
    counts = Counter(clean_name(path.suffix.lower()) or "without suffix" for path in paths)
    return listed([f"{count:,} {kind}" for kind, count in counts.most_common()], 9)


def _cannot_read(error: OSError) -> NoReturn:
    raise InputError(
        str(error.filename), f"an unreadable folder ({one_line(error)})", "a readable one"
    ) from None
