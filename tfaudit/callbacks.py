"""Keras callbacks: `Pruning`, `HoldMasks` and `Rewind` compress around `model.fit`, `ClassAudit` watches."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pandas as pd

from tfaudit.audit.epoch_metrics import class_recall, epoch_metrics
from tfaudit.compress.litert.inference import predict
from tfaudit.compress.pruning.hold_masks import HoldMasks
from tfaudit.compress.pruning.pruning import Pruning
from tfaudit.compress.pruning.rewind import Rewind
from tfaudit.errors import InputError
from tfaudit.predictions import Predictions

__all__ = ["ClassAudit", "HoldMasks", "Pruning", "Rewind"]


class ClassAudit(keras.callbacks.Callback):
    """Audits the model on validation data after every epoch and puts the result into `logs`.

    `val_worst_class_recall`; and against a baseline `val_flips` (examples whose top-1 class differs),
    `val_negative_flips` (right before, wrong now) and `val_intensification` (slope alpha of [R] section 5; NaN where
    undefined). Callbacks that come after it in the list, such as `ModelCheckpoint`, `EarlyStopping`, `CSVLogger` and
    `TensorBoard`, see them, and so do the history and the progress bar. Training goes on as without it, bit for bit.

    Args:
        validation: `(images, labels)` arrays, a `tf.data.Dataset` of batches of them, or a `tfaudit` data set, in
            an order that does not change. Labels are integers `(N,)` or one-hot `(N, C)`.
        baseline: What to compare with: a Keras model, flatbuffer bytes or the path of either, asked once, here and now
            (so the model about to be trained will do); or its top-1 classes, integers `(N,)`; or `Predictions`, whose
            modal labels are taken.
        batch_size: Images per step.

    Raises:
        InputError: The validation data or the baseline cannot be used, or they do not belong together.

    Example:
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
        if batch_size < 1:
            raise InputError("batch_size", str(batch_size), "1 or more")
        self._batch_size = batch_size
        self._validation = _reiterable(validation)
        self._labels = _joined([labels for _, labels in self._batches()])
        self._class_names = getattr(validation, "class_names", None)
        self._baseline = None if baseline is None else self._classes_of(baseline)
        self._history: list[pd.DataFrame] = []

    def on_train_begin(self, logs: dict | None = None) -> None:
        """Begins a new history."""
        self._history = []

    def on_epoch_end(self, epoch: int, logs: dict | None = None) -> None:
        """Asks the model and fills `logs`."""
        predicted = self._ask(self.model)
        if logs is not None:
            metrics = epoch_metrics(self._labels, predicted, self._baseline)
            logs.update({f"val_{name}": value for name, value in metrics.items()})
        self._history.append(self._class_table(epoch, predicted))

    def history_frame(self) -> pd.DataFrame:
        """Recall of every class after every epoch of the latest `fit`.

        Returns:
            Columns `epoch`, `class`, `class_name`, `recall` (NaN for a class without examples), `support`.
        """
        columns = ["epoch", "class", "class_name", "recall", "support"]
        return pd.concat(self._history, ignore_index=True) if self._history else pd.DataFrame(columns=columns)

    def _class_table(self, epoch: int, predicted: np.ndarray) -> pd.DataFrame:
        names = self._class_names or [str(c) for c in range(int(self._labels.max()) + 1)]
        recall, support = class_recall(self._labels, predicted, len(names))
        classes = np.arange(len(names))
        return pd.DataFrame(
            {"epoch": epoch, "class": classes, "class_name": list(names), "recall": recall, "support": support}
        )

    def _batches(self) -> Iterator[tuple[Any, np.ndarray]]:
        if isinstance(self._validation, tuple):
            images, labels = self._validation
            for i in range(0, len(images), self._batch_size):
                yield images[i : i + self._batch_size], _class_indices(labels[i : i + self._batch_size])
            return
        has_batches = hasattr(self._validation, "batches")
        for batch in self._validation.batches(self._batch_size) if has_batches else self._validation:
            if not isinstance(batch, tuple) or len(batch) < 2:
                raise InputError("validation", "a batch without labels", "batches of (images, labels)")
            yield batch[0], _class_indices(np.asarray(batch[1]))

    def _ask(self, model: Any) -> np.ndarray:
        """Top-1 classes `(N,)` on the validation data."""
        seen: list[np.ndarray] = []

        def images() -> Iterator[Any]:
            for batch, labels in self._batches():
                seen.append(labels)
                yield batch

        classes, _ = predict(model, images(), k=1)
        if not np.array_equal(_joined(seen), self._labels):
            raise InputError("validation: its order or length changes between passes; turn off its shuffling")
        return classes[:, 0]

    def _classes_of(self, baseline: Any) -> np.ndarray:
        if isinstance(baseline, keras.Model | bytes | str | Path):
            return self._ask(baseline)
        if isinstance(baseline, Predictions):
            if not np.array_equal(baseline.labels, self._labels):
                raise InputError("baseline: its labels are not those of validation; both must hold the same examples")
            return baseline.modal()
        classes = np.asarray(baseline)
        if classes.dtype.kind not in "iu" or classes.shape != self._labels.shape:
            raise InputError(
                "baseline",
                f"{type(baseline).__name__} of type {classes.dtype} and shape {classes.shape}",
                (f"a Keras model, a flatbuffer, a path, Predictions or integer classes of shape {self._labels.shape}"),
            )
        return classes


def _reiterable(validation: Any) -> Any:
    """The validation data, arrays as a tuple of two; refused if it can be read only once or not at all."""
    if isinstance(validation, tuple):
        if len(validation) != 2:
            raise InputError("validation", f"{len(validation)} parts", "(images, labels)")
        images, labels = (np.asarray(part) for part in validation)
        if len(images) != len(labels) or not len(images):
            raise InputError("validation", f"{len(images)} images and {len(labels)} labels", "the same, 1 or more")
        return images, labels
    if hasattr(validation, "batches") or (hasattr(validation, "__iter__") and not hasattr(validation, "__next__")):
        return validation
    raise InputError(
        "validation",
        str(type(validation).__name__),
        (
            "(images, labels), a tf.data.Dataset of batches of them or a tfaudit data set, which can be "
            "read again every epoch"
        ),
    )


def _class_indices(labels: np.ndarray) -> np.ndarray:
    """Integers `(N,)` from integers `(N,)` or `(N, 1)`, or one-hot `(N, C)`."""
    if labels.ndim == 2:
        labels = labels.argmax(axis=1) if labels.shape[1] > 1 else labels[:, 0]
    if labels.ndim != 1 or not np.array_equal(labels, labels.astype(np.int64)) or labels.min(initial=0) < 0:
        raise InputError(
            "validation",
            f"labels of type {labels.dtype} and shape {labels.shape}",
            "classes 0, 1, ... of shape (N,) or one-hot (N, C)",
        )
    return labels.astype(np.int64)


def _joined(labels: list[np.ndarray]) -> np.ndarray:
    if not labels:
        raise InputError("validation", "empty", "one batch or more")
    return np.concatenate(labels)
