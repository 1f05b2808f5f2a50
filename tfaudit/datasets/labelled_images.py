"""Labelled images to put to a model: a prepared data set, a folder of images per class, or arrays in an `.npz`."""

from __future__ import annotations

import dataclasses
import warnings
import zipfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
from PIL import Image

from tfaudit.datasets.folder import class_files
from tfaudit.errors import InputError, one_line, require

__all__ = ["LabelledImages", "class_folders", "labelled_images", "middle", "spread"]


@dataclasses.dataclass(frozen=True, eq=False)
class LabelledImages:
    """Images in a fixed order, read anew on every pass, with what is known of them.

    Attributes:
        labels: int64 `(N,)`.
        example_ids: `(N,)`, a stable name of each image.
        class_names: name of every class by label; None where the data name none.
        image_shape: `(H, W, channels)`; None where images differ or none has been read yet.
        batches: takes a batch size; gives arrays `(B, H, W, channels)`, uint8, or float where an `.npz` holds floats.
    """

    labels: np.ndarray
    example_ids: np.ndarray
    class_names: tuple[str, ...] | None
    image_shape: tuple[int | None, ...]
    batches: Callable[[int], Iterator[np.ndarray]]

    def named(self, names: Sequence[str]) -> LabelledImages:
        """The same images with the classes in the order given; the data may show only some of them.

        Raises:
            InputError: a name twice, a class of the data that is not among the names, or a label without a name.
        """
        require(len(set(names)) == len(names), "classes", f"{len(names)} names", "different names")
        if self.class_names is None:
            return dataclasses.replace(self, class_names=tuple(names))
        place = {name: i for i, name in enumerate(names)}
        unknown = [name for name in self.class_names if name not in place]
        if unknown:
            shown = ", ".join(unknown[:3]) + ", ..." * (len(unknown) > 3)
            raise InputError(f"classes: {len(unknown)} of the data's {len(self.class_names)} are not named: {shown}")
        order = np.array([place[name] for name in self.class_names])
        return dataclasses.replace(self, labels=order[self.labels], class_names=tuple(names))


def labelled_images(
    data: str,
    *,
    split: str = "test",
    image_size: int | None = None,
    crop: int | None = None,
    channels: int = 3,
    limit: int | None = None,
) -> LabelledImages:
    """Reads the labels; the images follow batch by batch.

    Args:
        data: a folder `ROOT/CLASS/*.jpg` or `ROOT/SPLIT/CLASS/*.jpg`; an `.npz` with `images` `(N, H, W[, channels])`,
            `labels` `(N,)` and perhaps `class_names`; else the name of a data set as `load_dataset` takes it.
        split: of a data set or a folder with splits.
        image_size: the shorter side is scaled to so many pixels; without `crop` the middle square is kept.
        crop: the middle square of so many pixels is cut out, after any scaling.
        channels: of the images in a folder, 1 or 3.
        limit: so many images: spread evenly over a folder or an `.npz`, the first ones of a data set.

    Raises:
        InputError: nothing readable there, or sizes that cannot be.
    """
    for name, value in (("image_size", image_size), ("crop", crop), ("limit", limit)):
        require(value is None or value >= 1, name, value, "1 or more")
    if image_size is not None and crop is not None:
        require(crop <= image_size, "crop", crop, f"at most image_size, {image_size}")
    path = Path(data).expanduser()
    if path.is_dir():
        return class_folders(path, split=split, image_size=image_size, crop=crop, channels=channels, limit=limit)
    if path.suffix == ".npz":
        if image_size is not None:
            raise InputError(f"image_size: {image_size}, but arrays are taken as they are; a crop cuts them")
        return _arrays(path, crop, limit)
    if path.is_absolute() or data.startswith((".", "~")):
        raise InputError(f"data: {data}, there is no such folder or .npz file")
    return _prepared(data, split, image_size, crop, limit)


def middle(images: np.ndarray, size: int | None) -> np.ndarray:
    """The middle square of images `(..., H, W, channels)`; all of them where `size` is None.

    Raises:
        InputError: images smaller than that.

    Example:
        >>> middle(np.arange(16).reshape(4, 4, 1), 2)[..., 0]
        array([[ 5,  6],
               [ 9, 10]])
    """
    if size is None:
        return images
    height, width = images.shape[-3:-1]
    if size > min(height, width):
        raise InputError(f"crop: {size} pixels, but an image has {height} x {width}")
    top, left = (height - size) // 2, (width - size) // 2
    return images[..., top : top + size, left : left + size, :]


def _cropped(shape: tuple[int | None, ...], crop: int | None) -> tuple[int | None, ...]:
    return shape if crop is None else (crop, crop, shape[2])


def _prepared(name: str, split: str, image_size: int | None, crop: int | None, limit: int | None) -> LabelledImages:
    from tfaudit.datasets.catalogue import load_dataset

    dataset = load_dataset(name, split, image_size=image_size)
    if limit is not None:
        dataset = dataset.take(limit)

    def batches(size: int) -> Iterator[np.ndarray]:
        if dataset.in_memory:
            parts: Iterator[np.ndarray] = (dataset.images[i : i + size] for i in range(0, dataset.num_examples, size))
        else:
            parts = (images for images, _ in dataset.examples().batch(size).as_numpy_iterator())
        return (middle(part, crop) for part in parts)

    shape = _cropped(dataset.image_shape, crop)
    return LabelledImages(dataset.labels, dataset.example_ids, dataset.class_names, shape, batches)


def _arrays(path: Path, crop: int | None, limit: int | None) -> LabelledImages:
    try:
        with np.load(path, allow_pickle=False) as file:
            found = {name: file[name] for name in ("images", "labels", "class_names") if name in file.files}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise InputError(f"data: {path} cannot be read ({one_line(error)})") from None
    missing = [name for name in ("images", "labels") if name not in found]
    if missing:
        raise InputError(f"data: {path} lacks {' and '.join(missing)}; it needs images and labels")
    images, labels = found["images"], found["labels"]
    if images.ndim == 3:
        images = images[..., None]
    if images.ndim != 4 or images.dtype.kind not in "fu" or not len(images):
        raise InputError("images", f"{images.dtype} {images.shape}", "uint8 or floats (N, H, W, channels)")
    if images.dtype.kind == "f" and not np.isfinite(images).all():
        raise InputError("images: hold NaN or infinite values; every pixel must be finite")
    if labels.shape != (len(images),) or labels.dtype.kind not in "iu" or labels.min() < 0:
        raise InputError("labels", f"{labels.dtype} {labels.shape}", f"{len(images)} integers, 0 or more")
    chosen = spread(len(images), limit)
    images, shape = images[chosen], _cropped(images.shape[1:], crop)
    return LabelledImages(
        labels=labels[chosen].astype(np.int64),
        example_ids=chosen,
        class_names=tuple(map(str, found["class_names"])) if "class_names" in found else None,
        image_shape=shape,
        batches=lambda size: (middle(images[i : i + size], crop) for i in range(0, len(images), size)),
    )


def spread(count: int, limit: int | None) -> np.ndarray:
    """So many positions, evenly spread over `count`; all of them where there is no limit or too few."""
    return np.arange(count) if limit is None or limit >= count else np.arange(limit) * count // limit


def class_folders(
    root: Path,
    *,
    split: str = "test",
    image_size: int | None = None,
    crop: int | None = None,
    channels: int = 3,
    limit: int | None = None,
) -> LabelledImages:
    """The images under `ROOT/SPLIT/CLASS/` where there is such a split, else under `ROOT/CLASS/`.

    Classes are the folders' names in sorted order, example ids the paths under `root`. As Keras and TFDS do, no image
    is turned after its EXIF tag.

    Args:
        root: the folder.
        split: name of a folder of class folders.
        image_size: the shorter side is scaled to so many pixels, bilinear; without `crop` the middle square is kept.
        crop: the middle square of so many pixels is cut out.
        channels: 3 for RGB, 1 for grey.
        limit: at most so many images, spread evenly over the sorted files.

    Raises:
        InputError: no class folders, or (while batches are read) an image that cannot be decoded or has another size
            than the first.
    """
    inside = root / split
    folder = inside if inside.is_dir() and any(path.is_dir() for path in inside.iterdir()) else root
    files = class_files(folder)
    names = sorted({path.parent.name for path in files})
    place = {name: i for i, name in enumerate(names)}
    labels = np.array([place[path.parent.name] for path in files])
    chosen = spread(len(files), limit)
    side = crop or image_size

    def batches(size: int) -> Iterator[np.ndarray]:
        shape: tuple[int, ...] | None = None
        for start in range(0, len(chosen), size):
            images = []
            for i in chosen[start : start + size]:
                image = _pixels(files[i], channels, image_size, crop)
                shape = shape or image.shape
                if image.shape != shape:
                    raise InputError(
                        f"image {files[i]} has {image.shape[0]} x {image.shape[1]} pixels, the first {shape[0]} x "
                        f"{shape[1]}; an image size or a crop makes them equal"
                    )
                images.append(image)
            yield np.stack(images)

    return LabelledImages(
        labels=labels[chosen],
        example_ids=np.array([files[i].relative_to(root).as_posix() for i in chosen]),
        class_names=tuple(names),
        image_shape=(side, side, channels),
        batches=batches,
    )


def _pixels(path: Path, channels: int, image_size: int | None, crop: int | None) -> np.ndarray:
    """One image, uint8 `(H, W, channels)`."""
    try:
        with Image.open(path) as file, warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # Pillow's advice on palettes with transparency
            if file.mode.startswith(("I", "F")):
                raise ValueError(f"mode {file.mode}; allowed are 8 bits a channel")
            image = file.convert("RGB" if channels == 3 else "L")
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise InputError(f"image {path} cannot be decoded: {error}") from None
    if image_size is not None and min(image.size) != image_size:
        scale = image_size / min(image.size)
        image = image.resize((round(image.width * scale), round(image.height * scale)), Image.Resampling.BILINEAR)
    pixels = np.asarray(image).reshape(image.height, image.width, channels)
    try:
        return middle(pixels, crop or image_size)
    except InputError as error:
        raise InputError(f"image {path}: {error}") from None
