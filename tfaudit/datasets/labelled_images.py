"""Labelled images for `tfaudit compare`: from a folder of images per class, an `.npz` file or a data set by name."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
from PIL import Image

from tfaudit.datasets.array_files import ArrayFile
from tfaudit.datasets.cropping import centre_crop
from tfaudit.datasets.image_files import open_image
from tfaudit.datasets.image_folder import class_files
from tfaudit.datasets.loading import load_dataset
from tfaudit.errors import InputError, listed, require


@dataclasses.dataclass(frozen=True, eq=False)
class LabelledImages:
    """Labelled images in a fixed order, read from their source on every pass."""

    labels: np.ndarray  # int64 (N,)
    example_ids: np.ndarray  # (N,), stable ids of the images
    class_names: tuple[str, ...] | None  # by label; None where the source has none
    image_shape: tuple[int | None, ...]  # (H, W, channels); None where images differ or none has been read yet
    # takes a batch size and yields arrays (B, H, W, channels), uint8, or float where an .npz holds floats
    batches: Callable[[int], Iterator[np.ndarray]]

    def named(self, names: Sequence[str]) -> LabelledImages:
        """Return the images, their classes numbered as in `names`, which must differ and include all of the data's."""
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


def labelled_images(
    data: str,
    *,
    split: str = "test",
    image_size: int | None = None,
    crop: int | None = None,
    channels: int = 3,
    limit: int | None = None,
) -> LabelledImages:
    """Read the labels; the images are read batch by batch.

    Args:
        data: a folder `ROOT/CLASS/*.jpg` or `ROOT/SPLIT/CLASS/*.jpg`; an `.npz` file with `images`
            `(N, H, W[, channels])`, `labels` `(N,)` and optionally `class_names`; or the name of a data set as
            `load_dataset` takes it.
        split: split of a data set, or of a folder with splits.
        image_size: shorter side to scale to, in pixels; without `crop` the central square is cropped.
        crop: edge of the central square to crop after scaling, in pixels.
        channels: channels of the images in a folder, 1 or 3.
        limit: number of images: evenly spaced ones of a folder or an `.npz`, the first ones of a data set.

    Raises:
        InputError: an unreadable source, or impossible sizes.
    """
    for name, value in (("image_size", image_size), ("crop", crop), ("limit", limit)):
        require(value is None or value >= 1, name, value, "1 or more")
    if image_size is not None and crop is not None:
        require(crop <= image_size, "crop", crop, f"at most image_size, {image_size}")
    path = Path(data).expanduser()
    if path.is_dir():
        return _from_folder(path, split, image_size, crop, channels, limit)
    if path.suffix == ".npz":
        require(image_size is None, "image_size", image_size, "none, as arrays are not scaled; a crop cuts them")
        return _from_arrays(path, crop, limit)
    if path.is_absolute() or data.startswith((".", "~")):
        raise InputError("data", data, "an existing folder or .npz file, or the name of a data set")
    return _from_dataset(data, split, image_size, crop, limit)


def _from_folder(
    root: Path, split: str, image_size: int | None, crop: int | None, channels: int, limit: int | None
) -> LabelledImages:
    """Read the images under `ROOT/SPLIT/CLASS/` where there is such a split, else under `ROOT/CLASS/`.

    Classes are the sorted folder names, example ids the paths under `root`. As in Keras and TFDS, EXIF orientation is
    ignored.
    """
    inside = root / split
    folder = inside if inside.is_dir() and any(path.is_dir() for path in inside.iterdir()) else root
    files = class_files(folder)
    names = sorted({path.parent.name for path in files})
    label = {name: i for i, name in enumerate(names)}
    files = [files[i] for i in _evenly_spaced(len(files), limit)]
    side = crop or image_size

    def batches(size: int) -> Iterator[np.ndarray]:
        shape: tuple[int, ...] | None = None
        for start in range(0, len(files), size):
            images = []
            for path in files[start : start + size]:
                image = _decoded(path, channels, image_size, crop)
                shape = shape or image.shape
                if image.shape != shape:
                    expected = f"{shape[0]} x {shape[1]}, as the first image; an image size or a crop makes them equal"
                    raise InputError(str(path), f"{image.shape[0]} x {image.shape[1]} pixels", expected)
                images.append(image)
            yield np.stack(images)

    labels = np.array([label[path.parent.name] for path in files])
    ids = np.array([path.relative_to(root).as_posix() for path in files])
    return LabelledImages(labels, ids, tuple(names), (side, side, channels), batches)


def _decoded(path: Path, channels: int, image_size: int | None, crop: int | None) -> np.ndarray:
    """Return one image, scaled and cropped, uint8 `(H, W, channels)`."""
    with open_image(path) as file:
        image = file.convert("RGB" if channels == 3 else "L")
    if image_size is not None and min(image.size) != image_size:
        scale = image_size / min(image.size)
        image = image.resize((round(image.width * scale), round(image.height * scale)), Image.Resampling.BILINEAR)
    pixels = np.asarray(image).reshape(image.height, image.width, channels)
    try:
        return centre_crop(pixels, crop or image_size)
    except InputError as error:
        raise InputError(f"{path}, {error.argument}", error.got, error.expected) from None


def _from_arrays(path: Path, crop: int | None, limit: int | None) -> LabelledImages:
    file = ArrayFile(path)
    arrays = {name: file.read(name) for name in ("images", "labels", "class_names") if name in file.names}
    missing = [name for name in ("images", "labels") if name not in arrays]
    if missing:
        raise InputError(str(path), f"a file without {' and '.join(missing)}", "arrays `images` and `labels`")
    images, labels = arrays["images"], arrays["labels"]
    if images.ndim == 3:
        images = images[..., None]
    if images.ndim != 4 or images.dtype.kind not in "fu" or not len(images):
        shape = f"{images.dtype} {images.shape}"
        raise InputError(f"{path}, images", shape, "uint8 or floats (N, H, W, channels)")
    if images.dtype.kind == "f" and not np.isfinite(images).all():
        raise InputError(f"{path}, images", "NaN or infinite values", "finite pixels")
    if labels.shape != (len(images),) or labels.dtype.kind not in "iu" or labels.min() < 0:
        raise InputError(f"{path}, labels", f"{labels.dtype} {labels.shape}", f"{len(images)} integers, 0 or more")
    positions = _evenly_spaced(len(images), limit)
    images, shape = images[positions], images.shape[1:]
    return LabelledImages(
        labels=labels[positions].astype(np.int64),
        example_ids=positions,
        class_names=tuple(map(str, arrays["class_names"])) if "class_names" in arrays else None,
        image_shape=shape if crop is None else (crop, crop, shape[2]),
        batches=lambda size: (centre_crop(images[i : i + size], crop) for i in range(0, len(images), size)),
    )


def _evenly_spaced(count: int, limit: int | None) -> np.ndarray:
    """Return `limit` evenly spaced positions below `count`; all of them without a limit or with too high a one."""
    return np.arange(count) if limit is None or limit >= count else np.arange(limit) * count // limit


def _from_dataset(name: str, split: str, image_size: int | None, crop: int | None, limit: int | None) -> LabelledImages:
    dataset = load_dataset(name, split, image_size=image_size)
    dataset = dataset if limit is None else dataset.take(limit)

    def batches(size: int) -> Iterator[np.ndarray]:
        if dataset.in_memory:
            parts: Iterator[np.ndarray] = (dataset.images[i : i + size] for i in range(0, dataset.num_examples, size))
        else:
            parts = (images for images, _ in dataset.examples().batch(size).as_numpy_iterator())
        return (centre_crop(part, crop) for part in parts)

    shape = dataset.image_shape if crop is None else (crop, crop, dataset.image_shape[2])
    return LabelledImages(dataset.labels, dataset.example_ids, dataset.class_names, shape, batches)
