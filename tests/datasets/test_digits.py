import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_digits

from tests.builders.refusals import assert_refused
from tfaudit.datasets.loading import load_dataset


def test_the_splits_are_a_stratified_partition_of_the_source():
    source, splits = load_digits(), [load_dataset("digits", split) for split in ("train", "test")]
    ids = np.concatenate([digits.example_ids for digits in splits])
    assert len(np.unique(ids)) == 1797
    shares = [np.bincount(digits.labels) / digits.num_examples for digits in splits]
    assert_allclose(*shares, atol=1 / 600)
    for digits, count in zip(splits, (1197, 600), strict=True):
        assert (digits.images.shape, digits.images.dtype) == ((count, 8, 8, 1), np.uint8)
        assert digits.class_names == tuple("0123456789")
        rows = [int(name.removeprefix("digits-")) for name in digits.example_ids]
        assert_array_equal(digits.labels, source.target[rows], strict=True)
        pixels = digits.images[..., 0] / 255
        assert_allclose(pixels, source.images[rows] / 16, atol=0.5 / 255)


def test_another_split_is_refused():
    assert_refused(
        "split: got 'validation', expected 'train' or 'test', the splits of 'digits'",
        load_dataset,
        "digits",
        "validation",
    )


@pytest.mark.slow
def test_loading_needs_no_tensorflow():
    script = """
import sys
sys.modules["tensorflow"] = None
from tfaudit.datasets.loading import load_dataset
digits = load_dataset("digits", "test")
digits.images, digits.labels, digits.example_ids, digits.head(3), digits.moments(), digits.take(5)
"""
    subprocess.run([sys.executable, "-c", script], check=True)
