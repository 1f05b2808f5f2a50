"""The examples of a study: its splits, and the copy of the test set that reports and viewer show."""

from __future__ import annotations

import contextlib
import io

import numpy as np
from PIL import Image

from tfaudit.datasets.catalogue import load_dataset
from tfaudit.datasets.dataset import Dataset
from tfaudit.errors import InputError
from tfaudit.store import Store
from tfaudit.study import Study

__all__ = ["load_splits", "store_examples"]


def load_splits(study: Study) -> tuple[Dataset, Dataset]:
    """The training and the test set of a study, cut to its limit.

    Raises:
        InputError: the data set, or one of the splits "train" and "test", is not there.
    """
    train, test = (load_dataset(study.dataset, split) for split in ("train", "test"))
    if study.limit:
        train, test = train.take(study.limit), test.take(study.limit)
    return train, test


def store_examples(store: Store, test: Dataset) -> None:
    """Stores id, label and PNG of every test example, unless they are there."""
    with contextlib.suppress(InputError):  # missing or damaged: written anew
        if len(store.examples("test")) == test.num_examples:
            return
    images = test.images if test.in_memory else (image for batch, _ in test.batches(64) for image in batch.numpy())
    store.save_examples("test", test.labels, test.example_ids.tolist(), test.class_names, [_png(i) for i in images])


def _png(image: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(image.squeeze(-1) if image.shape[-1] == 1 else image).save(buffer, "PNG")
    return buffer.getvalue()
