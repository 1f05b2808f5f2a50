"""Keras callbacks: `Pruning`, `HoldMasks` and `Rewind` prune inside `model.fit`, `ClassAudit` audits every epoch."""

import itertools
import warnings
from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pandas as pd

from tfaudit.audits.classes.epoch_metrics import class_recall, epoch_metrics
from tfaudit.compress.callback import ModelCallback
from tfaudit.compress.keras_model import require_keras_model
from tfaudit.compress.litert.inference import decisions
from tfaudit.compress.model_inputs import arrays_of, length_of
from tfaudit.compress.pruning.hold_masks import HoldMasks
from tfaudit.compress.pruning.pruning import Pruning
from tfaudit.compress.pruning.rewind import Rewind
from tfaudit.datasets.batches import read_batches
from tfaudit.datasets.examples import WEIGHTS_UNUSED
from tfaudit.datasets.fingerprint import digests
from tfaudit.datasets.structure import mapped, without_lists
from tfaudit.errors import (
    InputError,
    Notice,
    plural,
    require_whole,
)
from tfaudit.predictions import Predictions
from tfaudit.stats.copies import clusters_of_copies
from tfaudit.stats.one_hot import without_one_hot

__all__ = ["ClassAudit", "HoldMasks", "Pruning", "Rewind"]


class ClassAudit(ModelCallback):
    """Callback that audits the model on validation data after every epoch and adds the results to `logs`.

    The results are `val_worst_class_recall` and, with a baseline, `val_flips` (examples whose top-1 class differs),
    `val_negative_flips` (correct in the baseline, wrong now) and `val_intensification` (slope alpha of [R] section 5;
    NaN if undefined). The history, the progress bar and callbacks after this one in the list, such as
    `ModelCheckpoint`, `EarlyStopping`, `CSVLogger` and `TensorBoard`, receive them. The callback does not change the
    training by a single bit.

    Args:
        validation: `(inputs, labels)` or `(inputs, labels, sample_weight)`, where the inputs are an array, or a
            dictionary, tuple or list of arrays; a `tf.data.Dataset`, Keras `PyDataset` or other batches of them, which
            can be read every epoch; or a `tfaudit` data set. Their order must not change. Labels are integers `(N,)`
            or one-hot `(N, C)`. Every example counts once: a `Notice` says that sample weights are not used.
        baseline: a Keras model, flatbuffer bytes or the path of either, whose predictions are computed once, right here
            (so it may be the model to be trained); its top-1 classes, integers `(N,)`; or `Predictions`, whose modal
            labels are used. None, the default, computes no flips.
        batch_size: images per step.
        output: name of the output to use if the model has several, as in `tfaudit.predict`; labels may then be a
            dictionary.

    A `Notice` says if many of the examples are exact copies of others.

    Raises:
        InputError: the validation data or the baseline cannot be used, or they do not fit together; in `fit`: the model
            is a regression, or has another number of classes.

    >>> images, labels = np.eye(4, dtype="float32"), np.array([0, 0, 1, 1])
    >>> model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2, kernel_initializer="zeros")])
    >>> model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    >>> audit = ClassAudit((images, labels), baseline=model)
    >>> history = model.fit(images, labels, epochs=2, verbose=0, callbacks=[audit]).history
    >>> history["val_worst_class_recall"], history["val_flips"]
    ([1.0, 1.0], [2, 2])
    >>> audit.history_frame().head(2)
       epoch  class class_name  recall  support
    0      0      0          0     1.0        2
    1      0      1          1     1.0        2
    """

    def __init__(
        self,
        validation: Any,
        *,
        baseline: Any = None,
        batch_size: int = 256,
        output: str | None = None,
    ) -> None:
        super().__init__()
        require_whole("batch_size", batch_size, 1)
        self._output = output
        self._batch_size, self._validation = batch_size, _reiterable(validation)
        self._weighted = False
        batches = [
            (digests(mapped(np.asarray, inputs)), labels) for inputs, labels in self._batches()
        ]
        self._labels = _joined([labels for _, labels in batches])
        if self._weighted:
            warnings.warn(Notice(f"validation: {WEIGHTS_UNUSED}"), stacklevel=2)
        _tell_of_copies([content for contents, _ in batches for content in contents])
        self._class_names = getattr(validation, "class_names", None)
        self._baseline: np.ndarray | None = None
        self._baseline_width: int | None = None
        if baseline is not None:
            self._baseline = self._answers_of(baseline)
        self._history: list[pd.DataFrame] = []

    def on_train_begin(self, logs: dict | None = None) -> None:
        """Start a new history; refuse a model with another number of classes before it is trained."""
        self._history = []
        outputs = getattr(self.model, "outputs", None) or []
        if len(outputs) == 1 and len(outputs[0].shape) == 2:
            self._check_width(int(outputs[0].shape[1]), "the model")

    def on_epoch_end(self, epoch: int, logs: dict | None = None) -> None:
        """Audit the model and add the results to `logs`."""
        predicted, width = self._predict(self.model, "the model")
        if logs is not None:
            metrics = epoch_metrics(self._labels, predicted, self._baseline)
            logs.update({f"val_{name}": value for name, value in metrics.items()})
        self._history.append(self._class_table(epoch, predicted, width))

    def history_frame(self) -> pd.DataFrame:
        """Return the recall of every class after every epoch of the latest `fit`.

        Columns: `epoch`, `class`, `class_name`, `recall` (NaN for a class without examples), `support`.
        """
        columns = ["epoch", "class", "class_name", "recall", "support"]
        if not self._history:
            return pd.DataFrame(columns=columns)
        return pd.concat(self._history, ignore_index=True)

    def _class_table(self, epoch: int, predicted: np.ndarray, width: int) -> pd.DataFrame:
        names = self._class_names or [str(c) for c in range(width)]
        recall, support = class_recall(self._labels, predicted, len(names))
        table = {"epoch": epoch, "class": np.arange(len(names)), "class_name": list(names)}
        return pd.DataFrame({**table, "recall": recall, "support": support})

    def _batches(self) -> Iterator[tuple[Any, np.ndarray]]:
        data = self._validation
        size = self._batch_size
        if isinstance(data, tuple):
            cuts = [slice(start, start + size) for start in range(0, length_of(data[0]), size)]
            data = [mapped(itemgetter(cut), data) for cut in cuts]
        batches = data.batches(size) if hasattr(data, "batches") else data
        for batch in read_batches(batches, "validation"):
            if not isinstance(batch, tuple | list) or len(batch) < 2:
                got = "a batch without labels"
                raise InputError("validation", got, "batches of (images, labels)")
            self._weighted |= len(batch) > 2 and batch[2] is not None
            yield without_lists(batch[0]), self._checked_labels(without_lists(batch[1]))

    def _checked_labels(self, labels: Any) -> np.ndarray:
        if isinstance(labels, Mapping):
            if self._output not in labels:
                got = f"labels of {', '.join(map(str, labels))}"
                name = "output=NAME" if self._output is None else f"the output {self._output!r}"
                raise InputError("validation", got, f"labels of {name}")
            labels = labels[self._output]
        elif isinstance(labels, tuple):
            got = "labels of several outputs without their names"
            raise InputError("validation", got, "a dictionary of them, or the labels of one output")
        return _class_indices(np.asarray(labels))

    def _predict(self, model: Any, name: str) -> tuple[np.ndarray, int]:
        """Return top-1 classes `(N,)` on the validation data, and the number of classes."""
        seen: list[np.ndarray] = []

        def inputs() -> Iterator[Any]:
            for batch, labels in self._batches():
                seen.append(labels)
                yield (batch,)  # several inputs alone would be taken for a pair

        answers, width = decisions(model, inputs(), output=self._output)
        if not np.array_equal(_joined(seen), self._labels):
            raise InputError(
                "validation",
                "a different order or length in each pass",
                "data that are not shuffled",
            )
        return answers, self._check_width(width, name)

    def _check_width(self, outputs: int, name: str) -> int:
        """Return the number of classes of a model with this number of outputs, if the data has the same number."""
        width = max(outputs, 2)
        expected = f"classes 0 to {width - 1}, as {name} has {plural(outputs, 'output')}"
        if self._labels.max() >= width:
            raise InputError("validation", f"class {self._labels.max()}", expected)
        if self._class_names is not None and len(self._class_names) != width:
            raise InputError("validation", f"{len(self._class_names)} class names", expected)
        if self._baseline_width not in (None, width):
            raise InputError(
                "baseline", f"{self._baseline_width} classes", f"{width}, as {name} has"
            )
        if self._baseline is not None and self._baseline.max() >= width:
            raise InputError("baseline", f"class {self._baseline.max()}", expected)
        return width

    def _answers_of(self, baseline: Any) -> np.ndarray:
        if isinstance(baseline, keras.Model | bytes | str | Path):
            answers, width = self._predict(baseline, "the baseline")
            self._baseline_width = width
            return answers
        if any(base.__module__.partition(".")[0] == "tf_keras" for base in type(baseline).__mro__):
            require_keras_model(baseline)
        if isinstance(baseline, Predictions):
            if not np.array_equal(baseline.labels, self._labels):
                got = "labels that differ from those in validation"
                raise InputError("baseline", got, "the same examples as in validation")
            return baseline.modal()
        classes = np.asarray(baseline)
        if classes.dtype.kind not in "iub" or classes.shape != self._labels.shape:
            got = f"{type(baseline).__name__} of type {classes.dtype} and shape {classes.shape}"
            forms = "a Keras model, a flatbuffer, a path, Predictions or integer classes of shape"
            raise InputError("baseline", got, f"{forms} {self._labels.shape}")
        return classes


def _tell_of_copies(contents: Sequence[str]) -> None:
    """Issue a `Notice` if many validation examples are copies of others."""
    if clusters_of_copies(contents, np.zeros(len(contents), int)) is not None:
        copies = f"{len(contents) - len(set(contents)):,} of the {len(contents):,} examples"
        text = f"validation: {copies} are exact copies of others, and each counts"
        warnings.warn(Notice(text), stacklevel=3)


def _reiterable(validation: Any) -> Any:
    """Return the validation data, arrays as a pair; raise an `InputError` if it cannot be read repeatedly."""
    if isinstance(validation, tuple):
        return _arrays(validation)
    again = hasattr(validation, "__getitem__") or not hasattr(validation, "__next__")
    iterable = hasattr(validation, "__iter__") and not isinstance(validation, Mapping)
    if (again and iterable) or hasattr(validation, "batches"):
        return validation
    expected = "(images, labels), a tf.data.Dataset of batches of them or a tfaudit data set, readable every epoch"
    raise InputError("validation", type(validation).__name__, expected)


def _arrays(validation: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return inputs, labels and perhaps weights as arrays of the same length; refuse anything else."""
    unweighted = len(validation) == 3 and validation[2] is None
    parts = validation[:2] if unweighted else validation
    if len(parts) not in (2, 3):
        expected = "(images, labels) or (images, labels, sample_weight)"
        raise InputError("validation", f"{len(parts)} parts", expected)
    arrays = tuple(mapped(np.asarray, without_lists(part)) for part in parts)
    counts = [[len(array) if array.ndim else 0 for array in arrays_of(part)] for part in arrays]
    if len({*itertools.chain(*counts)}) != 1 or not counts[0][0]:
        names = zip(counts, ("images", "labels", "weights"), strict=False)
        got = " and ".join(f"{max(count)} {name}" for count, name in names)
        raise InputError("validation", got, "the same, 1 or more")
    return arrays


def _class_indices(labels: np.ndarray) -> np.ndarray:
    """Return integers `(N,)` from integers `(N,)` or `(N, 1)`, or one-hot `(N, C)`; refuse anything else."""
    got = f"labels of type {labels.dtype} and shape {labels.shape}"
    expected = "classes 0, 1, ... of shape (N,) or one-hot (N, C)"
    if labels.dtype.kind not in "iufb" or labels.ndim not in (1, 2):
        raise InputError("validation", got, expected)
    if labels.ndim == 2 and labels.shape[1] > 1:
        counts = labels.sum(axis=1)
        if not np.isin(labels, (0, 1)).all():
            raise InputError("validation", f"{got} and other values than 0 and 1", expected)
        if (counts != 1).any():
            got += f" with {int(counts.min())} to {int(counts.max())} classes per example"
            raise InputError("validation", got, expected)
    labels = without_one_hot(labels)
    whole = np.isfinite(labels) & (labels == np.floor(labels)) & (labels >= 0)
    if not whole.all():
        raise InputError("validation", f"{got} that are not whole numbers from 0", expected)
    return labels.astype(np.int64)


def _joined(labels: list[np.ndarray]) -> np.ndarray:
    if not labels:
        raise InputError("validation", "no batches", "one batch or more")
    return np.concatenate(labels)
