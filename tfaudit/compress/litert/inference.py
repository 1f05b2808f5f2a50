"""What a model answers: the best classes of each image and their probabilities, for Keras models and flatbuffers."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from tfaudit.compress.input_images import image_batches
from tfaudit.compress.model_files import open_model
from tfaudit.errors import InputError
from tfaudit.stats.ranking import RankedClasses, are_probabilities, rank_scores

if TYPE_CHECKING:
    import keras

__all__ = ["predict"]


class _Forward(Protocol):
    """Images in, float32 scores `(N, units)` out."""

    gives_probabilities: bool | None
    batch: int | None

    def __call__(self, images: np.ndarray) -> np.ndarray: ...


def predict(
    model: keras.Model | bytes | str | Path,
    images: Any,
    *,
    batch_size: int = 256,
    k: int = 5,
    threads: int = 1,
    classes: Sequence[int] | np.ndarray | None = None,
) -> RankedClasses:
    """The k best classes of every image, best first, and their probabilities.

    Equal scores rank the lower class first. A model that ends in logits gets a softmax; one that ends in softmax or
    sigmoid keeps what it gives, as does one whose last operation tells nothing but whose first batch lies in [0, 1]
    with rows that sum to 1 within 0.01. A single output unit is a two-class model: the sigmoid is class 1. On one
    machine the same call gives the same bits.

    A flatbuffer runs in LiteRT and imports no TensorFlow. A Keras model runs in inference mode, traced once.

    Args:
        model: A Keras 3 model, the bytes of a flatbuffer, or the path of a `.keras` or `.tflite` file.
        images: An array `(N, H, W, C)`, uint8 or float, as the model's input takes it (no scaling is done here); a
            `tfaudit` data set; or an iterable of batches, such as a `tf.data.Dataset`, of images or (images, labels).
        batch_size: Images per step; an iterable's own batches are kept.
        k: How many classes; a model with C < k classes gives C.
        threads: Threads of LiteRT. Keras goes by TensorFlow's own settings.
        classes: The only classes that may be answered, for images of a part of what the model knows, such as the 200
            of ImageNet-A; the probabilities are shares among them. All classes by default.

    Returns:
        The pair (classes, probabilities): int32 `(N, min(k, C))` and float32 of the same shape; C counts the classes
        that may be answered.

    Raises:
        InputError: The model cannot be run, the images do not fit it, it answers NaN or infinity, or it does not know
            one of the classes.

    Example:
        >>> import keras, numpy as np
        >>> model = keras.Sequential([keras.Input((2, 2, 1)), keras.layers.Flatten(), keras.layers.Softmax()])
        >>> image = np.log([[[[0.5], [0.2]], [[0.2], [0.1]]]])
        >>> classes, probabilities = predict(model, image, k=3)
        >>> classes
        array([[0, 1, 2]], dtype=int32)
        >>> probabilities.round(3)
        array([[0.5, 0.2, 0.2]], dtype=float32)
    """
    if k < 1:
        raise InputError("k", str(k), "1 or more")
    allowed = None if classes is None else _allowed(classes)
    forward = _forward(model, threads)
    blocks = _scores(forward, images, batch_size)
    first = next(blocks, None)
    if first is None:
        raise InputError("images", "empty", "one image or more")
    probabilities = forward.gives_probabilities
    if probabilities is None:
        probabilities = bool(first.min() >= 0 and first.max() <= 1) if first.shape[1] == 1 else are_probabilities(first)
    blocks = (_two_classes(scores, probabilities) for scores in itertools.chain([first], blocks))
    ranked = rank_scores(blocks, k=k, probabilities=probabilities, classes=allowed)
    return RankedClasses(ranked.classes.astype(np.int32), ranked.probabilities)


def _scores(forward: _Forward, images: Any, batch_size: int) -> Iterator[np.ndarray]:
    for batch in image_batches(images, batch_size):
        if len(batch):
            scores = np.concatenate([forward(part)[:real] for part, real in _cut(batch, forward.batch)])
            _check_scores(scores)
            yield scores


def _two_classes(scores: np.ndarray, probabilities: bool) -> np.ndarray:
    """Return the scores of two classes for a model of one unit, whose sigmoid is the softmax of (0, logit)."""
    if scores.shape[1] > 1:
        return scores
    return np.hstack([1 - scores if probabilities else np.zeros_like(scores), scores])


def _allowed(classes: Sequence[int] | np.ndarray) -> np.ndarray:
    """The classes in rising order, so that equal scores rank the lower one first."""
    allowed = np.asarray(classes)
    if allowed.ndim != 1 or not allowed.size or allowed.dtype.kind not in "iu":
        raise InputError("classes", f"{allowed.dtype} {allowed.shape}", "one or more numbers of classes")
    if (np.diff(np.sort(allowed)) == 0).any() or allowed.min() < 0:
        raise InputError("classes", "a negative one or one twice", "different numbers from 0")
    return np.sort(allowed)


def _forward(model: object, threads: int) -> _Forward:
    opened = open_model(model)
    if isinstance(opened, bytes):
        from tfaudit.compress.litert.flatbuffer import Flatbuffer

        return Flatbuffer(opened, threads=threads)
    from tfaudit.compress.keras_model import KerasForward

    return KerasForward(opened)


def _cut(batch: np.ndarray, size: int | None) -> Iterator[tuple[np.ndarray, int]]:
    """The parts of a batch for a model of fixed batch size, the last filled up, each with its count of real images."""
    if size is None:
        yield batch, len(batch)
        return
    for start in range(0, len(batch), size):
        part = batch[start : start + size]
        yield np.concatenate([part, part[:1].repeat(size - len(part), axis=0)]), len(part)


def _check_scores(scores: np.ndarray) -> None:
    if scores.ndim != 2:
        raise InputError("model", f"gives scores of shape {scores.shape}", "(N, classes)")
    if not np.isfinite(scores).all():
        rows = int((~np.isfinite(scores)).any(axis=1).sum())
        raise InputError(f"model: answers NaN or infinity for {rows} of {len(scores)} images of a batch")
