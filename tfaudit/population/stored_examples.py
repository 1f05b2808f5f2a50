"""The splits of a study, and the copy of the test set that the report and the viewer show."""

import contextlib
import io

import numpy as np
import pandas as pd
from PIL import Image

from tfaudit.datasets.copies import copies_as_clusters
from tfaudit.datasets.dataset import Dataset, Splits
from tfaudit.datasets.loading import data_source
from tfaudit.datasets.preview import previews
from tfaudit.datasets.representative import representative_positions
from tfaudit.errors import InputError
from tfaudit.stats.copies import clusters_of_copies
from tfaudit.stats.group_codes import CLUSTER
from tfaudit.stats.image_properties import pixel_entropy
from tfaudit.store.store import Store
from tfaudit.study.study import Study

THUMBNAIL, SMALL_THUMBNAIL, MANY = 224, 96, 20_000
"""Longest edge of the stored images in pixels: `THUMBNAIL`, or `SMALL_THUMBNAIL` for more than `MANY` images."""


def load_splits(study: Study) -> Splits:
    """Return the training and the test set of a study, cut to its limit; a missing one raises `InputError`."""
    train, test = (
        _limited(data, study) for data in data_source(study.dataset).splits(study.scaling)
    )
    return train, test


def load_test(study: Study) -> Dataset:
    """Return the test set of a study, cut to its limit; a missing one raises `InputError`."""
    source = data_source(study.dataset)
    return _limited(source.load(source.test_split, study.scaling), study)


def _limited(data: Dataset, study: Study) -> Dataset:
    """Return a split cut to the study's limit: examples from all parts of a user's data, which may be sorted."""
    if study.limit is None or study.limit >= data.num_examples:
        return data
    if study.dataset not in study.sources:  # prepared data are shuffled
        return data.take(study.limit)
    positions = representative_positions(data.num_examples, study.limit)
    return data.select(np.sort(positions), split=data.split)


def store_examples(store: Store, test: Dataset, *, thumbnails: bool = True) -> None:
    """Store id, label, preview and groups of every test example, unless they exist.

    Without `thumbnails` no image of a stream is decoded; a later call with them adds its thumbnails. Many exact copies
    become clusters, unless the examples have others.
    """
    test = copies_as_clusters(test)
    ids = test.example_ids.tolist()
    labels = test.labels.tolist()
    with contextlib.suppress(InputError):  # missing or damaged
        stored = store.examples()
        names = stored.attrs["class_names"]
        before = (
            stored["example"].tolist(),
            stored["label"].tolist(),
            names,
            stored.attrs["remarks"],
        )
        now = ids, labels, list(test.class_names), list(test.notes)
        clustered = stored.attrs["clustered"]
        of_thumbnails = clustered and not test.in_memory  # copies, which a stream does not know
        same_clusters = of_thumbnails or clustered == (test.clusters is not None)
        decoded = test.in_memory or not thumbnails or stored["image"].iloc[0]
        if before == now and same_clusters and decoded:
            return
    images = preview_bytes(test) if test.in_memory or thumbnails else [b""] * len(ids)
    groups = test.groups
    if not test.in_memory and test.clusters is None:
        clusters = clusters_of_copies(images, test.labels)
        groups = groups if clusters is None else groups.assign(**{CLUSTER: clusters})
    store.save_examples("test", test.labels, ids, test.class_names, images, groups, test.notes)


def store_class_facts(store: Store, train: Dataset) -> None:
    """Store the facts about the classes, unless they exist; a stream is read once, for its labels."""
    with contextlib.suppress(InputError):  # damaged or lost
        facts = store.table("classes")
        if (
            facts is not None
            and tuple(facts["class"]) == train.class_names
            and facts["train_examples"].sum() == train.num_examples
        ):
            return
    store.save_table("classes", class_facts(train))


def preview_bytes(dataset: Dataset) -> list[bytes]:
    """Return the previews of a set's examples, in order: thumbnails of images as PNGs, texts as UTF-8."""
    edge = THUMBNAIL if dataset.num_examples <= MANY else SMALL_THUMBNAIL
    return [
        shown.encode() if isinstance(shown, str) else _png(shown)
        for shown in previews(dataset, edge)
    ]


def class_facts(train: Dataset) -> pd.DataFrame:
    """Return one row per class of the training set with the properties that explain accuracy in [P] 3.1.

    Columns: `class`, `train_examples`, and `entropy_bits`, the mean entropy of its images' pixel values; NaN for a
    streaming set, whose images would have to be decoded, and for examples that are no images.
    """
    count = np.bincount(train.labels, minlength=train.num_classes)
    entropy = np.full(train.num_classes, np.nan)
    if train.in_memory and train.has_images:
        bits = np.bincount(train.labels, pixel_entropy(train.images), minlength=train.num_classes)
        np.divide(bits, count, out=entropy, where=count > 0)
    return pd.DataFrame(
        {"class": train.class_names, "train_examples": count, "entropy_bits": entropy}
    )


def _png(image: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(image.squeeze(-1) if image.shape[-1] == 1 else image).save(buffer, "PNG")
    return buffer.getvalue()
