"""A model file of the user's own: opened, checked against the images, run; what it refuses names the file."""

from __future__ import annotations

import contextlib
import dataclasses
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tfaudit.compress.model_files import image_shape, read_model
from tfaudit.errors import InputError
from tfaudit.stats.ranking import RankedClasses

__all__ = ["ModelFile"]


@dataclasses.dataclass(frozen=True)
class ModelFile:
    """A model that has been read.

    Attributes:
        path: its `.keras` or `.tflite` file.
        model: what `tfaudit.predict` takes: the Keras model or the flatbuffer's bytes.
        image_shape: `(H, W, channels)` that it takes; None where a side is open.
    """

    path: Path
    model: Any
    image_shape: tuple[int | None, ...]

    @classmethod
    def open(cls, path: Path) -> ModelFile:
        """Reads the file; a flatbuffer without TensorFlow.

        Raises:
            InputError: no such file, or none that holds a model.
        """
        with _naming(path):
            model = read_model(path)
            return cls(path, model, image_shape(model))

    def require_shape(self, shape: tuple[int, ...]) -> None:
        """Refuses images of another shape than the model takes.

        Raises:
            InputError: says both shapes, and which option scales the images.
        """
        want = self.image_shape
        if len(want) == len(shape) and all(side in (None, got) for side, got in zip(want, shape, strict=True)):
            return
        sides = " x ".join("any" if side is None else str(side) for side in want)
        square = len(want) == 3 and want[0] == want[1] and want[:2] != shape[:2]
        hint = f"; --image-size {want[0]} scales those of a folder or data set" if square else ""
        raise InputError(f"{self.path}: takes images of {sides}, they are {' x '.join(map(str, shape))}{hint}")

    def predict(self, batches: Iterable[np.ndarray], *, k: int) -> RankedClasses:
        """The k best classes and their probabilities, as `tfaudit.predict` gives them, on all cores.

        Raises:
            InputError: the model cannot run on them, or answers NaN or infinity.
        """
        from tfaudit.compress.litert.inference import predict

        with _naming(self.path):
            return predict(self.model, batches, k=k, threads=os.cpu_count() or 1)


@contextlib.contextmanager
def _naming(path: Path) -> Iterator[None]:
    """What is said of the model or its input names the file; an image that cannot be read names itself."""
    try:
        yield
    except InputError as error:
        nameless = str(error).startswith(("model:", "images:")) and str(path) not in str(error)
        raise InputError(f"{path}: {error}") if nameless else error from None
