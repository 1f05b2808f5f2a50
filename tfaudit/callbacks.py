"""Keras callbacks: `Pruning`, `HoldMasks` and `Rewind` prune inside `model.fit`, `ClassAudit` audits every epoch."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pandas as pd

from tfaudit.audit.epoch_metrics import class_recall, epoch_metrics
from tfaudit.compress.keras_model import require_instance
from tfaudit.compress.litert.inference import predict
from tfaudit.compress.pruning.hold_masks import HoldMasks
from tfaudit.compress.pruning.pruning import Pruning
from tfaudit.compress.pruning.rewind import Rewind
from tfaudit.errors import InputError, require
from tfaudit.predictions import Predictions

__all__ = ["ClassAudit", "HoldMasks", "Pruning", "Rewind"]


class ClassAudit(keras.callbacks.Callback):
    """Callback that audits the model on validation data after every epoch and adds the results to `logs`.

    The results are `val_worst_class_recall`, and with a baseline `val_flips` (examples whose top-1 class differs),
    `val_negative_flips` (correct in the baseline, wrong now) and `val_intensification` (slope alpha of [R] section 5;
    NaN where undefined). Callbacks that come after it in the list, such as `ModelCheckpoint`, `EarlyStopping`,
    `CSVLogger` and `TensorBoard`, the history and the progress bar receive them. Training is the same without the
    callback, bit for bit.

    Args:
        validation: `(images, labels)` arrays, a `tf.data.Dataset` of batches of them, or a `tfaudit` data set, in
            an order that does not change. Labels are integers `(N,)` or one-hot `(N, C)`.
        baseline: a Keras model, flatbuffer bytes or the path of either, whose predictions are computed once, right here
            (so it may be the model to be trained); or its top-1 classes, integers `(N,)`; or `Predictions`, of which
            the modal labels are used.
        batch_size: images per step.

    Raises:
        InputError: the validation data or the baseline cannot be used, or they do not belong together.

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

    def __init__(self, validation: Any, *, baseline: Any = None, batch_size: int = 256) -> None:
        super().__init__()
        require(batch_size >= 1, "batch_size", batch_size, "1 or more")
        self._batch_size, self._validation = batch_size, _reiterable(validation)
        self._labels = _joined([labels for _, labels in self._batches()])
        self._class_names = getattr(validation, "class_names", None)
        self._baseline = None if baseline is None else self._classes_of(baseline)
        self._history: list[pd.DataFrame] = []

    def set_model(self, model: Any = None) -> None:
        """Take the model of a fit; a class instead of an instance, or a Keras 2 model, is refused."""
        require_instance(self, model)
        super().set_model(model)

    def on_train_begin(self, logs: dict | None = None) -> None:
        """Start a new history."""
        self._history = []

    def on_epoch_end(self, epoch: int, logs: dict | None = None) -> None:
        """Audit the model and add the results to `logs`."""
        predicted = self._predict(self.model)
        if logs is not None:
            metrics = epoch_metrics(self._labels, predicted, self._baseline)
            logs.update({f"val_{name}": value for name, value in metrics.items()})
        self._history.append(self._class_table(epoch, predicted))

    def history_frame(self) -> pd.DataFrame:
        """Return the recall of every class after every epoch of the latest `fit`.

        Columns: `epoch`, `class`, `class_name`, `recall` (NaN for a class without examples), `support`.
        """
        columns = ["epoch", "class", "class_name", "recall", "support"]
        return pd.concat(self._history, ignore_index=True) if self._history else pd.DataFrame(columns=columns)

    def _class_table(self, epoch: int, predicted: np.ndarray) -> pd.DataFrame:
        names = self._class_names or [str(c) for c in range(int(self._labels.max()) + 1)]
        recall, support = class_recall(self._labels, predicted, len(names))
        table = {"epoch": epoch, "class": np.arange(len(names)), "class_name": list(names)}
        return pd.DataFrame({**table, "recall": recall, "support": support})

    def _batches(self) -> Iterator[tuple[Any, np.ndarray]]:
        data, size = self._validation, self._batch_size
        if isinstance(data, tuple):
            images, labels = data
            data = ((images[i : i + size], labels[i : i + size]) for i in range(0, len(images), size))
        for batch in data.batches(size) if hasattr(data, "batches") else data:
            if not isinstance(batch, tuple) or len(batch) < 2:
                raise InputError("validation", "a batch without labels", "batches of (images, labels)")
            yield batch[0], _class_indices(np.asarray(batch[1]))

    def _predict(self, model: Any) -> np.ndarray:
        """Return top-1 classes `(N,)` on the validation data."""
        seen: list[np.ndarray] = []

        def images() -> Iterator[Any]:
            for batch, labels in self._batches():
                seen.append(labels)
                yield batch

        classes, _ = predict(model, images(), k=1)
        if not np.array_equal(_joined(seen), self._labels):
            raise InputError("validation", "another order or length in each pass", "data that are not shuffled")
        return classes[:, 0]

    def _classes_of(self, baseline: Any) -> np.ndarray:
        if isinstance(baseline, keras.Model | bytes | str | Path):
            return self._predict(baseline)
        if isinstance(baseline, Predictions):
            if not np.array_equal(baseline.labels, self._labels):
                got = "other labels than those of validation"
                raise InputError("baseline", got, "the same examples as in validation")
            return baseline.modal()
        classes = np.asarray(baseline)
        if classes.dtype.kind not in "iu" or classes.shape != self._labels.shape:
            got = f"{type(baseline).__name__} of type {classes.dtype} and shape {classes.shape}"
            expected = "a Keras model, a flatbuffer, a path, Predictions or integer classes of shape"
            raise InputError("baseline", got, f"{expected} {self._labels.shape}")
        return classes


def _reiterable(validation: Any) -> Any:
    """Return the validation data, arrays as a tuple of two; raise an `InputError` if they cannot be read repeatedly."""
    if isinstance(validation, tuple):
        if len(validation) != 2:
            raise InputError("validation", f"{len(validation)} parts", "(images, labels)")
        images, labels = (np.asarray(part) for part in validation)
        if len(images) != len(labels) or not len(images):
            raise InputError("validation", f"{len(images)} images and {len(labels)} labels", "the same, 1 or more")
        return images, labels
    if hasattr(validation, "batches") or (hasattr(validation, "__iter__") and not hasattr(validation, "__next__")):
        return validation
    expected = "(images, labels), a tf.data.Dataset of batches of them or a tfaudit data set, readable every epoch"
    raise InputError("validation", type(validation).__name__, expected)


def _class_indices(labels: np.ndarray) -> np.ndarray:
    """Return integers `(N,)` from integers `(N,)` or `(N, 1)`, or one-hot `(N, C)`."""
    if labels.ndim == 2:
        labels = labels.argmax(axis=1) if labels.shape[1] > 1 else labels[:, 0]
    if labels.ndim != 1 or not np.array_equal(labels, labels.astype(np.int64)) or labels.min(initial=0) < 0:
        got = f"labels of type {labels.dtype} and shape {labels.shape}"
        raise InputError("validation", got, "classes 0, 1, ... of shape (N,) or one-hot (N, C)")
    return labels.astype(np.int64)


def _joined(labels: list[np.ndarray]) -> np.ndarray:
    if not labels:
        raise InputError("validation", "no batches", "one batch or more")
    return np.concatenate(labels)
