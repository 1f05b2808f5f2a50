"""Models of the user's own on images of the user's own, for `tfaudit compare` and `tfaudit gate`."""

from __future__ import annotations

import builtins
import dataclasses
import io
import itertools
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tfaudit.cli.model_file import ModelFile
from tfaudit.errors import InputError, require
from tfaudit.models.pretrained import PREPROCESSING
from tfaudit.predictions import Predictions

if TYPE_CHECKING:
    from rich.console import Console

    from tfaudit.datasets.labelled_images import LabelledImages

__all__ = ["ModelPredictions", "read_models"]

THUMBNAIL = 224
RESERVED = ("baseline", "dense")


@dataclasses.dataclass(frozen=True)
class ModelPredictions:
    """What model files answer on the same labelled images.

    Attributes:
        baseline: predictions of the uncompressed model, one member.
        compressed: predictions of each compressed model by its file's stem, made unique; one member each.
        bytes: size of each model file: the baseline's under "baseline", the others under their names.
        thumbnails: PNGs of at most 224 pixels, one per example; empty unless asked for.
        notes: what a reader has to know, one sentence each.
    """

    baseline: Predictions
    compressed: dict[str, Predictions]
    bytes: dict[str, int]
    thumbnails: list[builtins.bytes]
    notes: tuple[str, ...]


def read_models(
    baseline: Path,
    compressed: Sequence[Path],
    data: str,
    *,
    split: str = "test",
    image_size: int | None = None,
    crop: int | None = None,
    preprocess: str = "none",
    classes: Path | None = None,
    batch_size: int = 32,
    limit: int | None = None,
    console: Console,
    thumbnails: bool = False,
) -> ModelPredictions:
    """Runs every model on the same images, which are read batch by batch, once per model.

    Args:
        baseline: the uncompressed model, a `.keras` or `.tflite` file.
        compressed: one or more compressed ones.
        data: a data set's name, a folder of images per class or an `.npz`; see `labelled_images`.
        split: of a data set or of a folder with splits.
        image_size: the shorter side is scaled to so many pixels; without `crop` the middle square is kept. By default
            images from a folder get the size that the models take.
        crop: the middle square of so many pixels is cut out, after any scaling.
        preprocess: how the models were trained to see pixels, as in `tfaudit.models.pretrained`.
        classes: a file of class names, one a line or a JSON list, in the order of the models' outputs, for data that
            show only some of the classes or sort them otherwise.
        batch_size: images per step.
        limit: at most so many images.
        console: where a progress bar is drawn if it is a terminal.
        thumbnails: whether to make them.

    Raises:
        InputError: a file that cannot be read, or images, labels and models that do not fit each other.
    """
    from tfaudit.datasets.labelled_images import labelled_images
    from tfaudit.readers.classes import read_class_names

    require(preprocess in PREPROCESSING, "preprocess", preprocess, f"one of {', '.join(PREPROCESSING)}")
    require(batch_size >= 1, "batch_size", batch_size, "1 or more")
    require(len(compressed) > 0, "compressed", list(compressed), "one model or more")
    models = [ModelFile.open(path) for path in (baseline, *compressed)]
    notes = []
    if Path(data).expanduser().is_dir() and image_size is None and crop is None:
        image_size = _common_side(models)
        if image_size is not None:
            notes.append(
                f"Images are scaled to {image_size} pixels and cut to the middle square, as the models take them; "
                "--image-size and --crop choose otherwise."
            )
    channels = models[0].image_shape[-1]
    images = labelled_images(
        data, split=split, image_size=image_size, crop=crop, channels=1 if channels == 1 else 3, limit=limit
    )
    if classes is not None:
        images = images.named(read_class_names(classes))
    change = _preprocessing(preprocess, images.image_shape[-1])
    images = _fitted(models, images, change)
    answers = [_predictions(each, images, change, batch_size, console) for each in models]
    names = _unique([path.stem for path in compressed])
    return ModelPredictions(
        baseline=answers[0],
        compressed=dict(zip(names, answers[1:], strict=True)),
        bytes={name: each.path.stat().st_size for name, each in zip(("baseline", *names), models, strict=True)},
        thumbnails=[_png(image) for batch in images.batches(batch_size) for image in batch] if thumbnails else [],
        notes=tuple(notes),
    )


def _common_side(models: Sequence[ModelFile]) -> int | None:
    """The side of the square that some model insists on, or None."""
    sides = [shape[0] for shape in (each.image_shape for each in models) if len(shape) == 3 and shape[0] == shape[1]]
    return next((side for side in sides if side is not None), None)


def _preprocessing(mode: str, channels: int | None) -> Callable[[np.ndarray], np.ndarray]:
    require(
        channels == 3 or mode not in ("caffe", "torch"),
        "preprocess",
        mode,
        "none, unit or tf, for the images are not RGB",
    )
    if mode == "none":
        return lambda batch: batch
    if mode == "unit":
        return lambda batch: batch.astype(np.float32) / 255
    from keras.applications.imagenet_utils import preprocess_input

    return lambda batch: preprocess_input(batch.astype(np.float32), data_format="channels_last", mode=mode)


def _fitted(
    models: Sequence[ModelFile], images: LabelledImages, change: Callable[[np.ndarray], np.ndarray]
) -> LabelledImages:
    """The images with a name for every output of the models, once shapes and classes are known to fit each other.

    One image through every model tells before hours of the others do.
    """
    first = next(iter(images.batches(1)))
    for each in models:
        each.require_shape(first.shape[1:])
        outputs = each.predict([change(first)], k=sys.maxsize)[0].shape[1]
        if images.class_names is None:
            images = images.named([str(i) for i in range(outputs)])
        elif outputs != len(images.class_names):
            raise InputError(
                f"{each.path}: gives {outputs} classes, the data have {len(images.class_names)}; --classes FILE names "
                "the model's, one a line in the order of its outputs"
            )
    names = images.class_names or ()
    if images.labels.max() >= len(names):
        raise InputError(f"labels: class {images.labels.max()} occurs, the models give 0 to {len(names) - 1}")
    return images


def _predictions(
    each: ModelFile,
    images: LabelledImages,
    change: Callable[[np.ndarray], np.ndarray],
    batch_size: int,
    console: Console,
) -> Predictions:
    from rich.progress import Progress

    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(each.path.name, total=len(images.labels))

        def watched() -> Iterator[np.ndarray]:
            for batch in images.batches(batch_size):
                yield change(batch)
                bar.advance(task, len(batch))

        classes, probabilities = each.predict(watched(), k=5)
    return Predictions(
        images.labels,
        classes[None],
        probabilities[None],
        class_names=images.class_names,
        example_ids=images.example_ids,
    )


def _unique(stems: Sequence[str]) -> list[str]:
    names: list[str] = []
    for stem in stems:
        tries = itertools.chain([stem], (f"{stem}-{i}" for i in itertools.count(2)))
        names.append(next(name for name in tries if name not in (*RESERVED, *names)))
    return names


def _png(image: np.ndarray) -> bytes:
    from PIL import Image

    if image.dtype != np.uint8:  # floats have a scale of their own
        low, high = float(image.min()), float(image.max())
        image = ((image - low) * (255 / max(high - low, 1e-12))).astype(np.uint8)
    buffer = io.BytesIO()
    picture = Image.fromarray(image.squeeze(-1) if image.shape[-1] == 1 else image[..., :3])
    picture.thumbnail((THUMBNAIL, THUMBNAIL))
    picture.save(buffer, "PNG")
    return buffer.getvalue()
