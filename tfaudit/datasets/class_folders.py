"""Images as they lie in one folder per class, decoded batch by batch."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from PIL import Image

from tfaudit.datasets.folder import class_files
from tfaudit.datasets.labelled import LabelledImages, middle, spread
from tfaudit.errors import InputError

__all__ = ["class_folders"]


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
