"""MNIST's digits with their writers, from QMNIST's own files and from MNIST's."""

import gzip

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from tests.builders.refusals import assert_refused
from tfaudit.datasets.idx import read_idx
from tfaudit.datasets.loading import load_dataset
from tfaudit.datasets.prepare import prepare


def label_rows(count, offset):
    """Eight columns as published; row i is of class i % 10, series 0 or 4, writer offset + i // 4."""
    i = np.arange(count)
    return np.stack([i % 10, 4 * (i % 2), offset + i // 4, i, i % 10 + 48, i, 0 * i, 0 * i], axis=1)


@pytest.fixture
def folder(small_mnist):
    """MNIST's images and labels, and QMNIST's labels as text; those of the test split have more rows than images."""
    for split, count, offset in (("train", 30, 100), ("test", 20, 2000)):
        text = "".join("\t".join(map(str, row)) + "\n" for row in label_rows(count, offset))
        (small_mnist / f"qmnist-{split}-labels.tsv.gz").write_bytes(gzip.compress(text.encode()))
    return small_mnist


def test_every_image_keeps_its_writer_and_series(folder):
    prepare("qmnist", folder)
    test = load_dataset("qmnist", "test")
    source = read_idx(folder / "t10k-images-idx3-ubyte", 3)
    rows = {image.tobytes(): row for image, row in zip(source, label_rows(20, 2000), strict=False)}
    expected = np.array([rows[image.tobytes()] for image in test.images])
    assert list(test.groups.columns) == ["series", "writer"]
    assert_array_equal(test.labels, expected[:, 0])
    assert test.groups["series"].tolist() == [f"hsf{series}" for series in expected[:, 1]]
    assert_array_equal(test.groups["writer"], expected[:, 2])
    pd.testing.assert_frame_equal(test.take(5).groups, test.groups.head(5))


@pytest.mark.slow
def test_the_published_idx_labels_give_the_same(folder, tmp_path, write_idx):
    prepare("qmnist", folder, data_dir=tmp_path / "text")
    for split, count, offset in (("train", 30, 100), ("test", 20, 2000)):
        (folder / f"qmnist-{split}-labels.tsv.gz").unlink()
        write_idx(
            folder / f"qmnist-{split}-labels-idx2-int.gz", label_rows(count, offset), 12, ">i4"
        )
    prepare("qmnist", folder, data_dir=tmp_path / "idx")
    frames = [
        load_dataset("qmnist", "test", data_dir=tmp_path / kind).groups for kind in ("text", "idx")
    ]
    pd.testing.assert_frame_equal(*frames)


def overwrite_labels(folder, rows):
    text = "".join("\t".join(map(str, row)) + "\n" for row in rows)
    (folder / "qmnist-test-labels.tsv.gz").write_bytes(gzip.compress(text.encode()))


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (
            lambda f: (f / "qmnist-train-labels.tsv.gz").unlink(),
            "a folder without qmnist-train-labels",
        ),
        (
            lambda f: (f / "t10k-images-idx3-ubyte").unlink(),
            "a folder without qmnist-test-images or t10k-images",
        ),
        (
            lambda f: overwrite_labels(f, label_rows(11, 0)),
            "idx3-ubyte: got 12 images, expected at most 11",
        ),
        (
            lambda f: overwrite_labels(f, label_rows(12, 0)[:, :2]),
            "got labels .12, 2., expected rows of 8 columns",
        ),
        (
            lambda f: overwrite_labels(f, label_rows(13, 0)[1:]),
            r"got another label in row 0, expected the labels of .*t10k-labels-idx1-ubyte",
        ),
        (
            lambda f: overwrite_labels(f, 3 * label_rows(12, 0)),
            "got classes up to 27, series up to 12, a",
        ),
        (
            lambda f: (f / "qmnist-test-labels.tsv.gz").write_bytes(b"nonsense"),
            "qmnist-test-labels.tsv.gz: got an unreadable file",
        ),
    ],
)
def test_files_that_do_not_fit_are_named(folder, damage, words, data_sets):
    damage(folder)
    assert_refused(words, prepare, "qmnist", folder)
    assert not data_sets.exists()
