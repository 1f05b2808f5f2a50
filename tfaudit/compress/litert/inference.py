"""Predictions of Keras models and flatbuffers: the best classes of each image and their probabilities."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from tfaudit.compress.input_images import image_batches
from tfaudit.compress.model_files import open_model
from tfaudit.errors import InputError, require
from tfaudit.stats.ranking import RankedClasses, rank_scores, stated_kind

if TYPE_CHECKING:
    import keras


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
    scores_are: str = "auto",
) -> RankedClasses:
    """Predict the k best classes of every image, best first, and their probabilities.

    Equal scores rank the lower class first. Logits are converted by softmax; the outputs of softmax or sigmoid are
    probabilities already; they need not sum to 1, as quantized ones do not. If the last operation of the model does not
    show which, the scores decide, as in `tfaudit.stats.rank_scores`. A single output unit is a two-class model: its
    sigmoid is the probability of class 1. On one machine the same call gives the same bits. A flatbuffer runs in LiteRT
    and imports no TensorFlow. A Keras model runs in inference mode, traced once.

    Args:
        model: a Keras 3 model, the bytes of a flatbuffer, or the path of a `.keras` or `.tflite` file.
        images: an array `(N, H, W, C)`, uint8 or float, as the model's input takes it (without further scaling); a
            `tfaudit` data set; or an iterable of batches, such as a `tf.data.Dataset`, of images or (images, labels).
        batch_size: images per step; an iterable keeps its own batches.
        k: number of classes to return; C for a model with C < k classes.
        threads: number of threads of LiteRT. Keras uses TensorFlow's settings.
        classes: the only classes to choose from, for images of a subset of the model's classes, such as the 200 of
            ImageNet-A; probabilities are normalised over them. All classes by default.
        scores_are: "probabilities" or "logits" where neither the model nor its scores show it.

    Returns:
        The pair (classes, probabilities): int32 and float32 `(N, min(k, C))`, where C is the number of classes.

    Raises:
        InputError: the model cannot run or lacks one of the classes, images do not fit it, or a score is not finite.

    >>> import keras, numpy as np
    >>> model = keras.Sequential([keras.Input((2, 2, 1)), keras.layers.Flatten(), keras.layers.Softmax()])
    >>> classes, probabilities = predict(model, np.log([[[[0.5], [0.2]], [[0.2], [0.1]]]]), k=3)
    >>> classes.tolist(), probabilities.round(3)
    ([[0, 1, 2]], array([[0.5, 0.2, 0.2]], dtype=float32))
    """
    require(k >= 1, "k", k, "1 or more")
    allowed, forward = None if classes is None else _allowed(classes), _forward(model, threads)
    blocks = _scores(forward, images, batch_size)
    first = next(blocks, None)
    if first is None:
        raise InputError("images", "no images", "one image or more")
    probabilities = stated_kind(scores_are)
    if probabilities is None:
        probabilities = forward.gives_probabilities
    if probabilities is None and first.shape[1] == 1:
        probabilities = bool(first.min() >= 0 and first.max() <= 1)
    blocks = (_two_classes(scores, probabilities) for scores in itertools.chain([first], blocks))
    ranked = rank_scores(blocks, k=k, probabilities=probabilities, classes=allowed)
    return RankedClasses(ranked.classes.astype(np.int32), ranked.probabilities)


def _scores(forward: _Forward, images: Any, batch_size: int) -> Iterator[np.ndarray]:
    for batch in image_batches(images, batch_size):
        if not len(batch):
            continue
        scores = np.concatenate([forward(part)[:real] for part, real in _cut(batch, forward.batch)])
        if scores.ndim != 2:
            raise InputError("model", f"scores of shape {scores.shape}", "(N, classes)")
        if not np.isfinite(scores).all():
            rows = int((~np.isfinite(scores)).any(axis=1).sum())
            raise InputError("model", f"scores of NaN or infinity for {rows} of {len(scores)} images", "finite scores")
        yield scores


def _two_classes(scores: np.ndarray, probabilities: bool | None) -> np.ndarray:
    """Return the scores of two classes for a model of one unit, whose sigmoid is the softmax of (0, logit)."""
    if scores.shape[1] > 1:
        return scores
    return np.hstack([1 - scores if probabilities else np.zeros_like(scores), scores])


def _allowed(classes: Sequence[int] | np.ndarray) -> np.ndarray:
    """Return the classes in rising order, so that equal scores rank the lower one first."""
    allowed = np.asarray(classes)
    if allowed.ndim != 1 or not allowed.size or allowed.dtype.kind not in "iu":
        raise InputError("classes", f"{allowed.dtype} of shape {allowed.shape}", "one class index or more")
    if (np.diff(np.sort(allowed)) == 0).any() or allowed.min() < 0:
        raise InputError("classes", "a negative or repeated class", "different integers >= 0")
    return np.sort(allowed)


def _forward(model: object, threads: int) -> _Forward:
    opened = open_model(model)
    if isinstance(opened, bytes):
        from tfaudit.compress.litert.flatbuffer import Flatbuffer

        return Flatbuffer(opened, threads=threads)
    from tfaudit.compress.keras_model import KerasForward

    return KerasForward(opened)


def _cut(batch: np.ndarray, size: int | None) -> Iterator[tuple[np.ndarray, int]]:
    """Yield the parts of a batch for a model of fixed batch size, padded, each with its number of real images."""
    if size is None:
        yield batch, len(batch)
        return
    for start in range(0, len(batch), size):
        part = batch[start : start + size]
        yield np.concatenate([part, part[:1].repeat(size - len(part), axis=0)]), len(part)
