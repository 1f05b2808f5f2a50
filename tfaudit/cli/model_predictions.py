"""Predictions of model files on the user's own images, for `tfaudit compare`, `tfaudit gate` and `tfaudit compress`."""

from __future__ import annotations

import dataclasses
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tfaudit.analysis.stored_images import png_of
from tfaudit.cli.console import out
from tfaudit.cli.flags import renamed
from tfaudit.cli.options import ImageOptions
from tfaudit.cli.sides import names_of_models
from tfaudit.cli.steps import Steps
from tfaudit.compress.keras_archive import weight_bytes
from tfaudit.compress.model_files import errors_naming, require_model_file
from tfaudit.compress.model_inputs import by_names_of, length_of
from tfaudit.datasets.dataset import Dataset, shape_of_images
from tfaudit.datasets.examples import WEIGHTS_UNUSED
from tfaudit.datasets.structure import joined
from tfaudit.errors import InputError, require
from tfaudit.predictions import Predictions
from tfaudit.stats.group_codes import CLUSTER
from tfaudit.stats.ranking import RankedClasses

if TYPE_CHECKING:
    from tfaudit.datasets.labelled_images import LabelledImages

READ_TOGETHER = 256  # images per batch of those that are read into memory
THUMBNAIL = 224  # pixels of the longer side of a thumbnail
Preprocess = Callable[[np.ndarray], np.ndarray]  # prepares a batch of images for a model


@dataclasses.dataclass(frozen=True)
class ModelPredictions:
    """Predictions of model files for the same labelled images.

    Attributes:
        baseline: predictions of the uncompressed model, one member.
        compressed: predictions of each compressed model, one member each, by stem of its file, made unique.
        sizes: bytes of each model file by name, the baseline's under "baseline".
        thumbnails: PNGs of at most 224 pixels, one per example; empty by default.
        notes: facts that a reader needs to know, one sentence each.
        features: those of the baseline, `(N, D)`; None if they are not wanted.
    """

    baseline: Predictions
    compressed: dict[str, Predictions]
    sizes: dict[str, int]
    thumbnails: list[bytes]
    notes: tuple[str, ...]
    features: np.ndarray | None = None


def predict_models(
    baseline: Path,
    compressed: Sequence[Path],
    data: str,
    options: ImageOptions,
    *,
    thumbnails: bool = False,
    features: bool = False,
    steps: Steps | None = None,
) -> ModelPredictions:
    """Run every model on the same images, which are read batch by batch, once per model.

    Args:
        baseline: the uncompressed model, a `.keras` or `.tflite` file.
        compressed: one or more compressed models, `.keras` or `.tflite` files.
        data: name of a data set, a folder of images per class, or an `.npz` file; see `labelled_images`.
        options: how the images are read.
        thumbnails: whether to make thumbnails; by default none are made.
        features: whether to return features of the baseline.
        steps: bar of the command; none by default.

    Raises:
        InputError: a file that cannot be read, or images, labels and models that do not match.
    """
    from tfaudit.compress.model_comparison import outputs_of

    steps = steps or Steps()
    steps.plan(2 + len(compressed))
    steps.begin(f"Reading the models and {data}")
    of_baseline = dataclasses.replace(
        options, preprocess=options.baseline_preprocess or options.preprocess
    )
    output, *outputs = outputs_of(options.output, [str(path) for path in (baseline, *compressed)])
    first = ModelFile.read(baseline, of_baseline, output)
    others = [
        ModelFile.read(path, options, name, first)
        for path, name in zip(compressed, outputs, strict=True)
    ]
    models = [first, *others]
    _require_kernels(models, options.kernels)
    images = read_images(models, data, options)
    notes = [*images.notes, *([] if images.weights is None else [WEIGHTS_UNUSED])]
    before, *after = (_predictions(model, images, options.kernels, steps) for model in models)
    notes += _kernel_notes(models, images, (before, *after), steps)
    names = names_of_models(compressed)
    are_images = len(images.image_shape) == 3
    pngs = _pngs(images, options.batch_size) if thumbnails and are_images else []
    sizes = {}
    for name, model in zip(("baseline", *names), models, strict=True):
        sizes[name], state = weight_bytes(model.path)
        if state:
            notes.append(
                f"{model.path.name}: {state:,} bytes of the optimizer's state do not count as size."
            )
    return ModelPredictions(
        before,
        dict(zip(names, after, strict=True)),
        sizes,
        pngs,
        tuple(notes),
        first.features(images) if features else None,
    )


def _require_kernels(models: Sequence[ModelFile], kernels: str) -> None:
    """Raise an `InputError` for kernels that no model runs with."""
    if kernels != "default" and not any(model.is_flatbuffer for model in models):
        expected = "a .tflite file: a Keras model does not run in LiteRT"
        raise InputError("kernels", f"{kernels} for Keras models", expected)


def _kernel_notes(
    models: Sequence[ModelFile],
    images: LabelledImages,
    predictions: Sequence[Predictions],
    steps: Steps,
) -> list[str]:
    """Return `kernel_note` for each flatbuffer that runs with other kernels than the default ones."""
    judged = [
        (model, own)
        for model, own in zip(models, predictions, strict=True)
        if model.is_flatbuffer and model.options.kernels != "default"
    ]
    steps.plan(len(judged))
    return [kernel_note(model, images, own, steps) for model, own in judged]


def require_model_files(**files: Sequence[Path]) -> None:
    """Raise an `InputError` about the first path, by option, that is no model file; no file is opened."""
    for option, paths in files.items():
        for path in paths:
            with renamed(model=option):
                require_model_file(path)


def read_images(models: Sequence[ModelFile], data: str, options: ImageOptions) -> LabelledImages:
    """Read the labels of data, and check that every model takes the images.

    Args:
        models: one or more models; the first decides the channels and, by default, the size of images from a folder.
        data: name of a data set, a folder of images per class, or an `.npz` file, as in `predict_models`.
        options: how the images are read.

    Returns:
        The images with the names of the models' classes.

    Raises:
        InputError: data that cannot be read, or that do not fit the models.
    """
    from tfaudit.datasets.class_folders import notes_on_order
    from tfaudit.datasets.labelled_images import labelled_images
    from tfaudit.readers.classes import read_class_names

    is_folder = Path(data).expanduser().is_dir()
    image_size, notes = _scaling(models, is_folder, options)
    channels = next(iter(models[0].image_shape[-1:]), None)
    with renamed(name="data", dataset="data", labels="data: labels", images="data: images"):
        images = labelled_images(
            data,
            split=options.split,
            image_size=image_size,
            crop=options.crop,
            channels=1 if channels == 1 else 3,
            limit=options.limit,
            recursive=options.recursive,
            skip_unreadable=options.skip_unreadable,
        )
    if is_folder and options.classes is None:
        notes += notes_on_order(images.class_names or ())
    images = dataclasses.replace(images, notes=(*notes, *images.notes))
    if options.classes is not None:
        images = images.named(read_class_names(options.classes))
    counts = [model.count_outputs(images) for model in models]
    if images.class_names is None:
        images = images.named([str(i) for i in range(counts[0])])
    names = images.class_names or ()
    for model, outputs in zip(models, counts, strict=True):
        if outputs != len(names):
            expected = f"{len(names)} classes, as in the data, or --classes FILE with the model's class names"
            raise InputError(str(model.path), f"a model of {outputs} classes", expected)
    largest = int(images.labels.max())
    known = f"0 to {len(names) - 1}, the classes of the models"
    require(largest < len(names), "data: labels", largest, known)
    if options.examples is not None:
        images = _only(images, options.examples, preprocessing(options.preprocess))
    return images


def read_examples(model: ModelFile, data: str, options: ImageOptions) -> Dataset:
    """Read labelled examples into memory as a model takes them, and print what a reader needs to know of them."""
    images = read_images([model], data, options)
    for note in images.notes:
        out.tell(note)
    prepare = preprocessing(options.preprocess)
    x = joined([prepare(batch) for batch in images.batches(READ_TOGETHER)])
    return Dataset(
        data,
        options.split,
        tuple(images.class_names or ()),
        shape_of_images(x),
        len(images.labels),
        inputs=x,
        known_labels=images.labels,
        known_ids=images.example_ids.astype(str),
        known_groups={} if images.clusters is None else {CLUSTER: images.clusters},
        weights=images.weights,
    )


def _scaling(
    models: Sequence[ModelFile], is_folder: bool, options: ImageOptions
) -> tuple[int | None, tuple[str, ...]]:
    """Return the size to which images are scaled, that of the models for images from a folder, and a note on it."""
    if not is_folder or options.image_size is not None or options.crop is not None:
        return options.image_size, ()
    squares = (model.image_shape[0] for model in models if model.is_square)
    image_size = next((side for side in squares if side is not None), None)
    note = (
        f"Images are scaled to {image_size} pixels and cropped to the central square, as the models take them; "
        "--image-size and --crop override this."
    )
    return image_size, () if image_size is None else (note,)


def _only(images: LabelledImages, path: Path, prepare: Preprocess) -> LabelledImages:
    """Return the images with the ids in the column `example` of a file, in their present order.

    If the file says what they contain, each image is compared with it when it is read: of a loader that shuffles, ids
    that are mere positions are those of other images.
    """
    from tfaudit.datasets.fingerprint import CONTENTS, contents
    from tfaudit.readers.sources import open_table

    table = open_table(path)
    if "example" not in table.columns:
        got = f"{path} with columns {', '.join(table.columns)}"
        raise InputError("examples", got, "a column example")
    ids = table.text("example").tolist()
    chosen = images.only(ids, str(path))
    if CONTENTS not in table.columns:
        return chosen
    known = dict(zip(ids, table.text(CONTENTS).tolist(), strict=True))
    wanted = [known[name] for name in chosen.example_ids.astype(str)]

    def batches(size: int) -> Iterator[Any]:
        start = 0
        for batch in chosen.batches(size):
            rows = slice(start, start + length_of(batch))
            if contents(prepare(batch), chosen.labels[rows]) != wanted[rows]:
                got = f"examples with other inputs or labels than {path} was written for"
                expected = (
                    "the same data, read with the same options; a loader that shuffles needs a seed"
                )
                raise InputError("examples", got, expected)
            start = rows.stop
            yield batch

    return dataclasses.replace(chosen, batches=batches)


@dataclasses.dataclass(frozen=True)
class ModelFile:
    """A model that was read from a file. Errors about the model name the file.

    Attributes:
        path: its `.keras` or `.tflite` file.
        options: how the model takes images.
        forward: its inference, which also says what the model takes.
        baseline: the model whose inputs a tuple of data is ordered by; None for this model itself.
    """

    path: Path
    options: ImageOptions
    forward: Any
    baseline: ModelFile | None = None

    @classmethod
    def read(
        cls,
        path: Path,
        options: ImageOptions,
        output: str | None,
        baseline: ModelFile | None = None,
    ) -> ModelFile:
        """Read the file; a flatbuffer needs no TensorFlow."""
        from tfaudit.compress.litert.inference import forward_of

        with errors_naming(path):
            forward = forward_of(path, os.cpu_count() or 1, output, options.signature)
        return cls(path, options, forward, baseline)

    @property
    def image_shape(self) -> tuple[int | None, ...]:
        """The `(H, W, channels)` that the model takes, of several inputs the first; None for an open side."""
        return self.forward.inputs[0].shape  # type: ignore[no-any-return]

    @property
    def is_square(self) -> bool:
        """Whether the model takes square images."""
        return len(self.image_shape) == 3 and self.image_shape[0] == self.image_shape[1]

    @property
    def is_flatbuffer(self) -> bool:
        """Whether it runs in LiteRT."""
        return isinstance(self.forward.model, bytes)

    def count_outputs(self, images: LabelledImages) -> int:
        """Return the number of outputs for one of the images; raise an `InputError` unless the model takes it."""
        first = next(iter(images.batches(1)))
        mode = self.options.preprocess
        if not images.image_shape:
            require(
                mode == "none",
                "preprocess",
                mode,
                "none, because these data are no images of uint8",
            )
        else:
            grey = images.image_shape[-1] != 3
            expected = "none, unit or tf, because the images are not RGB"
            require(not grey or mode not in ("caffe", "torch"), "preprocess", mode, expected)
            self._require_shape(first.shape[1:])
        return self.predict([first], k=sys.maxsize, check_range=False)[0].shape[1]

    def _require_shape(self, shape: tuple[int, ...]) -> None:
        expected = self.image_shape
        if len(expected) == len(shape) and all(
            side in (None, got) for side, got in zip(expected, shape, strict=True)
        ):
            return
        sides = " x ".join("any" if side is None else str(side) for side in expected)
        if self.is_square and expected[:2] != shape[:2]:
            sides += f"; --image-size {expected[0]} scales images of a folder or data set"
        raise InputError(
            str(self.path), f"images of {' x '.join(map(str, shape))}", f"images of {sides}"
        )

    def predict(
        self,
        batches: Iterable[Any],
        *,
        k: int,
        kernels: str = "default",
        check_range: bool = True,
    ) -> RankedClasses:
        """Return the k most probable classes of images as `tfaudit.predict` does, on all cores."""
        from tfaudit.compress.litert.inference import forward_of, predict

        forward = self.forward
        if kernels != "default":
            forward = forward_of(
                forward.model, os.cpu_count() or 1, forward.output, kernels=kernels
            )
        with errors_naming(self.path):
            return predict(
                forward,
                self._prepared(batches),
                k=k,
                scores_are=self.options.scores_are,
                check_range=check_range,
            )

    def features(self, images: LabelledImages) -> np.ndarray:
        """Return the model's features of images, as `tfaudit.features` does."""
        from tfaudit.compress.features import features

        batches = self._prepared(images.batches(self.options.batch_size))
        with errors_naming(self.path):
            return features(self.forward.model, batches, output=self.forward.output)

    def _prepared(self, batches: Iterable[Any]) -> Iterator[tuple[Any]]:
        """Yield batches as the model takes them, each in a tuple, as several inputs would be taken for a pair."""
        prepare = preprocessing(self.options.preprocess)
        ordered = (self.baseline or self).forward
        for batch in batches:
            yield (by_names_of(prepare(batch), ordered, self.forward),)


def preprocessing(mode: str) -> Preprocess:
    """Return the function that prepares a batch of images `(B, H, W, channels)`."""
    if mode == "none":
        return lambda batch: batch
    if mode == "unit":
        return lambda batch: batch.astype(np.float32) / 255
    from keras.applications.imagenet_utils import preprocess_input

    return lambda batch: preprocess_input(
        batch.astype(np.float32), data_format="channels_last", mode=mode
    )


def kernel_note(
    model: ModelFile, images: LabelledImages, judged: Predictions, steps: Steps | None = None
) -> str:
    """Return which kernels judge a flatbuffer, and how many predictions differ from those of the default kernels."""
    usual = _predictions(model, images, "default", steps or Steps())
    differ = int((usual.top1 != judged.top1).sum())
    return (
        f"{model.path.name} is judged with {model.options.kernels} kernels. They predict another class than the "
        f"default ones for {differ:,} of {len(images.labels):,} examples."
    )


def _predictions(
    model: ModelFile, images: LabelledImages, kernels: str, steps: Steps
) -> Predictions:
    """Return a model's predictions; `kernels` are those of `predict`."""
    steps.begin(f"Predicting with {model.path.name}")

    def batches() -> Iterator[np.ndarray]:
        done = 0
        for batch in images.batches(model.options.batch_size):
            yield batch
            done += length_of(batch)
            steps.advance(done / len(images.labels))

    return Predictions.on(images, model.predict(batches(), k=5, kernels=kernels))


def _pngs(images: LabelledImages, batch_size: int) -> list[bytes]:
    return [_png(image) for batch in images.batches(batch_size) for image in batch]


def _png(image: np.ndarray) -> bytes:
    if image.dtype != np.uint8:  # floats may have any range
        low = float(image.min())
        high = float(image.max())
        image = ((image - low) * (255 / max(high - low, 1e-12))).astype(np.uint8)
    return png_of(image[..., :3], THUMBNAIL)
