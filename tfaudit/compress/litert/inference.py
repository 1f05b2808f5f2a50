"""Predictions of Keras models and flatbuffers: the best classes for each image and their probabilities."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from tfaudit.compress.input_range import SAMPLED
from tfaudit.compress.model_files import open_model
from tfaudit.compress.model_inputs import Inputs, arrays_of, input_batches, length_of
from tfaudit.datasets.batches import is_shuffled
from tfaudit.datasets.dataset import Dataset
from tfaudit.datasets.fingerprint import digests
from tfaudit.datasets.representative import Sample, representative_positions
from tfaudit.datasets.structure import joined, mapped, without_lists
from tfaudit.errors import InputError, require_whole
from tfaudit.stats.ranking import RankedClasses, rank_scores, stated_kind

if TYPE_CHECKING:
    import keras


class _Forward(Protocol):
    """Inputs in, float32 scores `(N, units)` of one output out."""

    gives_probabilities: bool | None
    is_regression: bool | None
    batch: int | None

    def __call__(self, images: Inputs) -> np.ndarray: ...


def predict(
    model: keras.Model | bytes | str | Path,
    images: Any,
    *,
    batch_size: int = 256,
    k: int = 5,
    threads: int = 1,
    classes: Sequence[int] | np.ndarray | None = None,
    scores_are: str = "auto",
    output: str | None = None,
    signature: str | None = None,
    kernels: str = "default",
    check_range: bool = True,
) -> RankedClasses:
    """Predict the k best classes for each image or other example, best first, with their probabilities.

    Equal scores rank the lower class first. Logits are converted by softmax. Outputs of softmax or sigmoid are
    probabilities already; they need not sum to 1, and quantized ones do not. If the last operation of the model does
    not show which of them it returns, the scores decide, as in `tfaudit.stats.rank_scores`. A model with a single
    output unit has two classes: its sigmoid is the probability of class 1. Unless it ends in a sigmoid or is compiled
    with a classifier's loss, it may be a regression, and `scores_are` has to say that it is not. On one machine the
    same call gives the same bits. A flatbuffer runs in LiteRT and imports no TensorFlow. A Keras model runs in
    inference mode, traced in every call (LeNet: 0.03 s), so that no constant of a layer is out of date.

    Args:
        model: a Keras 3 model, the bytes of a flatbuffer, or the path of a `.keras` or `.tflite` file.
        images: an array `(N, H, W, C)`, uint8 or float, or of any other shape and type, as the model's input takes it
            (without further scaling); for several inputs a dictionary of arrays by name, or a tuple or list of arrays;
            a `tfaudit` data set; or batches of these or of (images, labels): a list, a `tf.data.Dataset`, a Keras
            `PyDataset`, a PyTorch `DataLoader` or a generator, which end or have a length.
        batch_size: images per step; an iterable keeps its own batches.
        k: number of classes to return, 5 by default; all C if the model has C < k classes.
        threads: number of LiteRT threads; Keras uses TensorFlow's settings.
        classes: the only classes to choose from, if the images show a subset of the model's classes, such as the 200
            of ImageNet-A; probabilities are normalised over them. All classes by default.
        scores_are: "probabilities" or "logits"; needed only if neither the model nor its scores show which.
        output: name of the output to use if the model has several: a key of the dictionary that it returns, or the name
            of the output's layer; for a flatbuffer, the name in its signature.
        signature: name of the signature to run if a flatbuffer has several; by default the only one that takes batches
            and returns scores.
        kernels: what runs the operators of a flatbuffer: "default", LiteRT with its delegate XNNPACK, as on most
            computers and phones; "plain", LiteRT's optimized kernels alone; or "reference", the ones on which those of
            TensorFlow Lite Micro are modelled, many times slower. They round integers differently. Keras models ignore
            it.
        check_range: whether to refuse images that are scaled differently from those that an integer model was
            calibrated with: in 100 examples from all parts of the data, most values lie outside its range, or all in a
            sliver of it. Batches are all predicted before that is known.

    Returns:
        The pair (classes, probabilities): int32 and float32 arrays `(N, min(k, C))` for a model with C classes. It also
        holds a hash of each example, by which `Predictions` lets exact copies count once.

    Raises:
        InputError: the model cannot run, is a regression or lacks one of the classes; images do not fit it, or have
            another range than those that an integer model was calibrated with; or a score is not finite.

    >>> import keras, numpy as np
    >>> model = keras.Sequential([keras.Input((2, 2, 1)), keras.layers.Flatten(), keras.layers.Softmax()])
    >>> classes, probabilities = predict(model, np.log([[[[0.5], [0.2]], [[0.2], [0.1]]]]), k=3)
    >>> classes.tolist(), probabilities.round(3)
    ([[0, 1, 2]], array([[0.5, 0.2, 0.2]], dtype=float32))
    """
    return predict_with(
        forward_of(model, threads, output, signature, kernels),
        images,
        batch_size=batch_size,
        k=k,
        classes=classes,
        scores_are=scores_are,
        check_range=check_range,
    )


def predict_with(
    forward: _Forward,
    images: Any,
    *,
    batch_size: int = 256,
    k: int = 5,
    classes: Sequence[int] | np.ndarray | None = None,
    scores_are: str = "auto",
    check_range: bool = True,
) -> RankedClasses:
    """Predict as `predict` does, with the inference of a model that is open already."""
    contents: list[str] = []
    ranked = _ranked(
        forward,
        images,
        k,
        classes,
        scores_are,
        batch_size=batch_size,
        check_range=check_range,
        contents=contents,
    )
    return RankedClasses(*ranked, ranked.ties, np.array(contents, object))


def predict_classifier(
    model: Any, images: Any, *, k: int = 5, classes: Any = None
) -> RankedClasses:
    """Predict as `predict` does, for a known classifier: a single output is the score of class 1.

    >>> import keras, numpy as np
    >>> predict_classifier(keras.Sequential([keras.Input((1,)), keras.layers.Identity()]), np.array([[-1.0]])).classes
    array([[0, 1]], dtype=int32)
    """
    return _ranked(forward_of(model), images, k, classes, is_classifier=True)


def decisions(
    model: Any,
    images: Any,
    *,
    batch_size: int = 256,
    output: str | None = None,
) -> tuple[np.ndarray, int]:
    """Predict the top-1 class of each example `(N,)`; also return the number of outputs.

    A model with one output has two classes. Raises the errors of `predict`.
    """
    forward = forward_of(model, 1, output)
    probabilities = _known_kind(forward)
    outputs = 0
    blocks = []
    for scores in scores_of(forward, images, batch_size):
        outputs = scores.shape[1]
        if probabilities is None:
            probabilities = bool(scores.min() >= 0 and scores.max() <= 1)
        positive = scores[:, 0] > (0.5 if probabilities else 0)
        blocks.append(positive.astype(int) if outputs == 1 else scores.argmax(axis=1))
    if not blocks:
        raise InputError("images", "no images", "one image or more")
    return np.concatenate(blocks), outputs


def _known_kind(forward: _Forward) -> bool | None:
    """Return whether the scores are probabilities, None if unknown; raise an `InputError` for a regression."""
    if forward.is_regression and not forward.gives_probabilities:
        raise InputError("model", "a regression: its loss compares numbers", "a classifier")
    return forward.gives_probabilities


def _ranked(
    forward: _Forward,
    images: Any,
    k: int,
    classes: Any,
    scores_are: str = "auto",
    *,
    batch_size: int = 256,
    check_range: bool = True,
    is_classifier: bool = False,
    contents: list[str] | None = None,
) -> RankedClasses:
    require_whole("k", k, 1)
    allowed = None if classes is None else _allowed(classes)
    blocks = scores_of(forward, images, batch_size, check_range=check_range, contents=contents)
    first = next(blocks, None)
    if first is None:
        raise InputError("images", "no images", "one image or more")
    probabilities = stated_kind(scores_are)
    if probabilities is None:
        probabilities = _known_kind(forward)
        if first.shape[1] == 1 and not probabilities:
            if forward.is_regression is None and not is_classifier:
                got = "one output without a sigmoid, which may be a regression"
                expected = "scores_are (--scores-are) set to logits or probabilities for a model of two classes"
                raise InputError("model", got, expected)
            if probabilities is None:
                probabilities = bool(first.min() >= 0 and first.max() <= 1)
    blocks = (_two_classes(scores, probabilities) for scores in itertools.chain([first], blocks))
    ranked = rank_scores(blocks, k=k, probabilities=probabilities, classes=allowed)
    return RankedClasses(ranked.classes.astype(np.int32), ranked.probabilities, ranked.ties)


def scores_of(
    forward: Any,
    images: Any,
    batch_size: int,
    *,
    check_range: bool = True,
    contents: list[str] | None = None,
) -> Iterator[np.ndarray]:
    """Yield the outputs of a model for each batch of images, `(B, outputs)`; errors are those of `predict`.

    A hash of every image is added to `contents`.
    """
    if is_shuffled(images):
        got = f"a {type(images).__name__} of random order"
        raise InputError("images", got, "the order of the data: shuffle=False")
    images = without_lists(images) if len(forward.inputs) > 1 else images
    batches = input_batches(images, batch_size, len(forward.inputs))
    if check_range and hasattr(forward, "check_range"):
        held = getattr(images, "inputs", images) if isinstance(images, Dataset) else images
        if hasattr(held, "__array__") or isinstance(held, Mapping | tuple):
            _check_held(forward, held)
        else:
            batches = _in_range(forward, batches)
    for batch in batches:
        if not length_of(batch):
            continue
        if contents is not None:
            contents += digests(batch)
        scores = np.concatenate([forward(part)[:real] for part, real in _cut(batch, forward.batch)])
        if scores.ndim != 2:
            raise InputError("model", f"scores of shape {scores.shape}", "(N, classes)")
        if not np.isfinite(scores).all():
            rows = int((~np.isfinite(scores)).any(axis=1).sum())
            got = f"scores of NaN or infinity for {rows} of {len(scores)} images"
            raise InputError("model", got, "finite scores")
        yield scores


def _check_held(forward: Any, images: Any) -> None:
    """Check the range of arrays, on examples from all parts of them."""
    arrays = mapped(np.asarray, images)
    if count := length_of(arrays):
        forward.check_range(mapped(itemgetter(representative_positions(count, SAMPLED)), arrays))


def _in_range(forward: Any, batches: Iterator[Inputs]) -> Iterator[Inputs]:
    """Yield the batches, and check the range of examples drawn from all of them at the end."""
    sample = Sample(SAMPLED)
    for batch in batches:
        sample.add(batch)
        yield batch
    by_shape = itertools.groupby(sample.rows, lambda row: [one.shape for one in arrays_of(row)])
    for _, alike in by_shape:
        forward.check_range(joined([*alike]))


def _two_classes(scores: np.ndarray, probabilities: bool | None) -> np.ndarray:
    """Return the scores of two classes for a model with one unit, whose sigmoid is the softmax of (0, logit)."""
    if scores.shape[1] > 1:
        return scores
    return np.hstack([1 - scores if probabilities else np.zeros_like(scores), scores])


def _allowed(classes: Sequence[int] | np.ndarray) -> np.ndarray:
    """Return the classes in ascending order, so that equal scores rank the lower one first."""
    given = np.asarray(classes)
    if given.ndim != 1 or not given.size or given.dtype.kind not in "iu":
        got = f"{given.dtype} of shape {given.shape}"
        raise InputError("classes", got, "one class index or more")
    allowed = np.unique(given)
    if len(allowed) < len(given) or allowed[0] < 0:
        raise InputError("classes", "a negative or repeated class", "different integers >= 0")
    return allowed


def forward_of(
    model: object,
    threads: int = 1,
    output: str | None = None,
    signature: str | None = None,
    kernels: str = "default",
) -> Any:
    """Return the inference function of a Keras model, a flatbuffer or the path of either: inputs in, scores out."""
    if hasattr(model, "gives_probabilities"):  # such a function itself
        return model
    opened = open_model(model, signature)  # type: ignore[arg-type]
    if isinstance(opened, bytes):
        from tfaudit.compress.litert.flatbuffer import Flatbuffer

        return Flatbuffer(opened, threads=threads, output=output, kernels=kernels)
    from tfaudit.compress.keras_model import KerasForward

    return KerasForward(opened, output)


def _cut(batch: Inputs, size: int | None) -> Iterator[tuple[Inputs, int]]:
    """Yield the parts of a batch, padded to a fixed batch size if any, each with its number of real examples."""
    count = length_of(batch)
    if size is None:
        yield batch, count
        return
    for start in range(0, count, size):
        real = min(size, count - start)

        def part(array: np.ndarray, start: int = start, real: int = real) -> np.ndarray:
            cut = array[start : start + real]
            return np.concatenate([cut, cut[:1].repeat(size - real, axis=0)])

        yield mapped(part, batch), real
