"""Labelled examples for `tfaudit compare`: a folder of images per class, an `.npz` file, a data set or a function."""

from __future__ import annotations

import dataclasses
import inspect
import itertools
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from tfaudit.datasets.array_files import ArrayFile
from tfaudit.datasets.class_folders import (
    notes_on_files,
    read_class_folders,
    split_folders,
    subfolders,
)
from tfaudit.datasets.cropping import centre_crop
from tfaudit.datasets.examples import Examples, read_examples
from tfaudit.datasets.image_files import open_image
from tfaudit.datasets.image_folder import readable_files
from tfaudit.datasets.loading import load_dataset
from tfaudit.datasets.scaling import Scaling
from tfaudit.datasets.structure import joined, leaves, mapped
from tfaudit.errors import InputError, listed, require, require_least
from tfaudit.runtime.names import clean_names, clean_texts
from tfaudit.runtime.user_functions import (
    as_reference,
    call,
    check_call,
    import_reference,
    is_reference,
)
from tfaudit.stats.group_codes import CLUSTER

LABELS = ("labels", "label", "y", "targets", "target")
"""Names of an array of labels in an `.npz` file."""


@dataclasses.dataclass(frozen=True, eq=False)
class LabelledImages:
    """Labelled images in a fixed order, read from their source on every pass."""

    labels: np.ndarray  # class numbers, int64 (N,)
    example_ids: np.ndarray  # stable ids of the images, (N,)
    class_names: tuple[str, ...] | None  # names of the classes, or None
    # shape (H, W, channels), None for sizes that differ or are not known yet; () for examples that are not images
    image_shape: tuple[int | None, ...]
    # takes a batch size and yields uint8 arrays (B, H, W, channels); for an .npz or a function, perhaps arrays of other
    # types and shapes, or dictionaries or tuples of arrays
    batches: Callable[[int], Iterator[Any]]
    notes: tuple[str, ...] = ()  # sentences about the images that readers of results need
    clusters: np.ndarray | None = None  # cluster of each image, such as its film, (N,); or None
    weights: np.ndarray | None = (
        None  # factor of each image's loss in training, float32 (N,); or None
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "example_ids", clean_texts(self.example_ids, "example ids"))
        if self.class_names is not None:
            object.__setattr__(
                self, "class_names", clean_names(map(str, self.class_names), "class names")
            )

    def named(self, names: Sequence[str]) -> LabelledImages:
        """Return the images with classes numbered as in `names`, distinct names that include all of the data's."""
        require(len(set(names)) == len(names), "classes", f"{len(names)} names", "different names")
        if self.class_names is None:
            return dataclasses.replace(self, class_names=tuple(names))
        position = {name: i for i, name in enumerate(names)}
        unknown = [name for name in self.class_names if name not in position]
        if unknown:
            missing = f"names without {listed(unknown, 3)}"
            raise InputError("classes", missing, f"all {len(self.class_names)} classes of the data")
        order = np.array([position[name] for name in self.class_names])
        return dataclasses.replace(self, labels=order[self.labels], class_names=tuple(names))

    def only(self, ids: Sequence[str], source: str) -> LabelledImages:
        """Return the images with some ids, in their present order; an `InputError` says that `source` has the ids."""
        chosen = np.isin(self.example_ids.astype(str), ids)
        unknown = sorted({*ids} - {*self.example_ids.astype(str)})
        if unknown:
            got = f"{len(unknown)} ids in {source} that the data lack, such as {unknown[0]!r}"
            raise InputError("examples", got, "ids of examples of the data")
        if not chosen.any():
            raise InputError("examples", "no ids", "ids of examples of the data")

        def batches(size: int) -> Iterator[Any]:
            examples = (example for batch in self.batches(size) for example in _single(batch))
            selected = itertools.compress(examples, chosen)
            while together := list(itertools.islice(selected, size)):
                yield joined(together)

        return dataclasses.replace(
            self,
            labels=self.labels[chosen],
            example_ids=self.example_ids[chosen],
            batches=batches,
            clusters=None if self.clusters is None else self.clusters[chosen],
            weights=None if self.weights is None else self.weights[chosen],
        )


def labelled_images(
    data: str,
    *,
    split: str = "test",
    image_size: int | None = None,
    crop: int | None = None,
    channels: int = 3,
    limit: int | None = None,
    recursive: bool = False,
    skip_unreadable: int = 0,
) -> LabelledImages:
    """Read the labels; the images are read batch by batch.

    Args:
        data: a folder `ROOT/CLASS/*.jpg`, or `ROOT/SPLIT/CLASS/*.jpg`, whose classes are those of all splits; an `.npz`
            file with `images` `(N, H, W[, channels])`, `labels` `(N,)` and optionally `class_names`, or with `x` and
            `y` (or `x_SPLIT` and `y_SPLIT`) of any shape and type, or with `labels` and one array per input of the
            model; a function `"module:name"` or `"file.py:name"` that takes the split or nothing and returns `(x, y)`;
            or the name of a data set as `load_dataset` takes it.
        split: split of a data set, or of a folder with splits.
        image_size: shorter side to scale to, in pixels; by default images are not scaled.
        crop: edge of the central square to crop after scaling, in pixels; `image_size` by default.
        channels: channels of the images in a folder, 1 or 3.
        limit: largest number of images: evenly spaced ones of a folder or an `.npz`, the first ones of a data set; all
            by default.
        recursive: whether class folders may hold further folders of images.
        skip_unreadable: largest number of unreadable images of a folder to leave out; more are an error. As many files
            that are no images may make up more than a tenth of a class.

    Raises:
        InputError: an unreadable source, or impossible sizes.
    """
    require_least(1, limit=limit)
    scaling = Scaling(image_size, crop)
    path = Path(data).expanduser()
    if path.is_dir():
        return _from_folder(path, split, scaling, channels, limit, recursive, skip_unreadable)
    if is_reference(data):
        return _from_function(data, split, limit)
    if path.suffix == ".npz":
        expected = "none, as arrays are not scaled; a crop cuts them"
        require(image_size is None, "image_size", image_size, expected)
        return _from_arrays(path, split, crop, limit)
    if path.is_absolute() or data.startswith((".", "~")) or data.endswith("/"):
        expected = "an existing folder or .npz file, or the name of a data set"
        raise InputError("data", f"no folder {data}", expected)
    return _from_dataset(data, split, scaling, limit)


def _from_folder(
    root: Path,
    split: str,
    scaling: Scaling,
    channels: int,
    limit: int | None,
    recursive: bool,
    skip_unreadable: int,
) -> LabelledImages:
    """Read the images under `ROOT/SPLIT/CLASS/` if `ROOT` holds splits, otherwise under `ROOT/CLASS/`.

    Classes are the folder names of all splits in the order of text, example ids the paths under `root`. As in Keras and
    TFDS, EXIF orientation and transparency are ignored.
    """
    splits = split_folders(root, split)
    if splits and split not in splits:
        raise InputError("split", repr(split), f"a split of {root}: {listed([*splits])}")
    require(
        bool(splits) or split in ("train", "test"), "split", split, f"none, as {root} has no splits"
    )
    elsewhere = {path.name for name in splits for path in subfolders(splits[name]) if name != split}
    found = read_class_folders(splits.get(split, root), recursive=recursive)
    found.require_images(skip_unreadable, elsewhere)
    names = sorted(elsewhere.union(found.images))
    files = found.paths
    files = [files[i] for i in _evenly_spaced(len(files), limit)]
    files, notes = readable_files(files, skip_unreadable, root)
    side = scaling.edge

    def batches(size: int) -> Iterator[np.ndarray]:
        first: tuple[int, ...] | None = None
        for start in range(0, len(files), size):
            images = []
            for path in files[start : start + size]:
                image = _decoded(path, channels, scaling)
                first = first or image.shape
                if image.shape != first:
                    got = f"{image.shape[0]} x {image.shape[1]} pixels"
                    expected = f"{first[0]} x {first[1]}, as the first image; an image size or a crop makes them equal"
                    raise InputError(str(path), got, expected)
                images.append(image)
            yield np.stack(images)

    labels = np.array([names.index(found.class_of(path)) for path in files])
    ids = np.array([path.relative_to(root).as_posix() for path in files])
    notes = (*notes, *notes_on_files([found]))
    return LabelledImages(labels, ids, tuple(names), (side, side, channels), batches, notes)


def _decoded(path: Path, channels: int, scaling: Scaling) -> np.ndarray:
    """Return one image, scaled and cropped, uint8 `(H, W, channels)`."""
    with open_image(path) as file:
        image = file.convert("RGB" if channels == 3 else "L")
    if scaling.image_size is not None:
        scale = scaling.image_size / min(image.size)
        size = (round(image.width * scale), round(image.height * scale))
        image = image.resize(size, Image.Resampling.BILINEAR)
    pixels = np.asarray(image).reshape(image.height, image.width, channels)
    try:
        return centre_crop(pixels, scaling.edge)
    except InputError as error:
        raise InputError(f"{path}, {error.argument}", error.got, error.expected) from None


def _with_channels(images: np.ndarray, where: str) -> np.ndarray:
    """Return `(N, H, W, channels)` images; other arrays raise `InputError`."""
    if images.ndim == 3:
        images = images[..., None]
    if images.ndim != 4 or images.dtype.kind not in "fu" or not len(images):
        expected = (
            "uint8 or floats (N, H, W, channels); inputs of other shapes and types in an array `x`"
        )
        raise InputError(where, f"{images.dtype} {images.shape}", expected)
    return images


def _from_arrays(path: Path, split: str, crop: int | None, limit: int | None) -> LabelledImages:
    file = ArrayFile(path)
    arrays = {name: file.read(name) for name in file.names}
    present = f"arrays {listed(list(arrays), 9)}" if arrays else "no arrays"
    names = arrays.pop("class_names", None)
    label = next((name for name in (*LABELS, f"y_{split}") if name in arrays), None)
    values = next((name for name in ("images", "x", f"x_{split}") if name in arrays), None)
    if label is None or (values is None and len(arrays) < 2):
        pairs = f"arrays `images` and `labels`, `x` and `y`, or `x_{split}` and `y_{split}`"
        raise InputError(str(path), present, pairs)
    labels = arrays.pop(label)
    x: Any = arrays if values is None else arrays[values]
    shape: tuple[int | None, ...] = ()
    if values == "images" or (values and x.ndim == 4 and x.dtype == np.uint8):
        x = _with_channels(x, f"{path}, images")
        shape = Scaling(crop=crop).scaled(x.shape[1:])
    examples = Examples(x, labels, class_names=names)
    return _of_examples(examples, str(path), limit, image_shape=shape, crop=crop if shape else None)


def _from_function(reference: str, split: str, limit: int | None) -> LabelledImages:
    """Call `load(split)`, or `load()`, and read what it returns as `tfaudit.Examples` does."""
    absolute = as_reference("data", reference, "a function")
    function = import_reference("data", absolute)
    arguments = (split,) if inspect.signature(function).parameters else ()
    check_call("data", absolute, function, "load(split) or load()", *arguments)
    return _of_examples(call("data", absolute, function, *arguments), reference, limit)


def _of_examples(
    returned: Any,
    name: str,
    limit: int | None,
    *,
    image_shape: tuple[int | None, ...] = (),
    crop: int | None = None,
) -> LabelledImages:
    """Return `limit` evenly spaced examples from memory; images are cropped to the central square."""
    try:
        examples = read_examples(returned, name)
    except InputError as problem:
        raise InputError("data", problem.got, problem.expected) from None
    positions = _evenly_spaced(len(examples.labels), limit)
    x = _rows(examples.x, positions)
    names = examples.class_names
    clusters = examples.groups.get(CLUSTER)
    return LabelledImages(
        labels=examples.labels[positions],
        example_ids=np.asarray(examples.ids)[positions],
        class_names=None if names is None else tuple(names),
        image_shape=image_shape,
        batches=lambda size: (
            centre_crop(_rows(x, slice(start, start + size)), crop)
            for start in range(0, len(positions), size)
        ),
        clusters=None if clusters is None else clusters[positions],
        weights=None if examples.weights is None else examples.weights[positions],
    )


def _rows(x: Any, rows: Any) -> Any:
    return mapped(lambda values: values[rows], x)


def _single(batch: Any) -> Iterator[Any]:
    """Yield every example of a batch as a batch of one."""
    _, values = next(leaves(batch))
    return (_rows(batch, slice(i, i + 1)) for i in range(len(values)))


def _evenly_spaced(count: int, limit: int | None) -> np.ndarray:
    """Return `limit` evenly spaced positions below `count`; all of them without a limit or with too high a one."""
    if limit is None or limit >= count:
        return np.arange(count)
    return np.arange(limit) * count // limit


def _from_dataset(name: str, split: str, scaling: Scaling, limit: int | None) -> LabelledImages:
    dataset = load_dataset(name, split, image_size=scaling.image_size)
    dataset = dataset if limit is None else dataset.take(limit)

    def batches(size: int) -> Iterator[np.ndarray]:
        parts = (
            (dataset.images[i : i + size] for i in range(0, dataset.num_examples, size))
            if dataset.in_memory
            else (images for images, _ in dataset.examples().batch(size).as_numpy_iterator())
        )
        return (centre_crop(part, scaling.crop) for part in parts)

    return LabelledImages(
        dataset.labels,
        dataset.example_ids,
        dataset.class_names,
        Scaling(crop=scaling.crop).scaled(dataset.image_shape),
        batches,
        dataset.notes,
        dataset.clusters,
    )
