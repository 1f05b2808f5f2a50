import subprocess
import sys

import numpy as np
import pytest
from sklearn.datasets import load_digits

from tfaudit.datasets.loading import load_dataset
from tfaudit.errors import InputError


def test_the_splits_partition_the_source():
    train, test = load_dataset("digits", "train"), load_dataset("digits", "test")
    assert (train.num_examples, test.num_examples) == (1197, 600)
    ids = np.concatenate([train.example_ids, test.example_ids])
    assert len(np.unique(ids)) == 1797


def test_an_id_leads_back_to_the_source():
    source, test = load_digits(), load_dataset("digits", "test")
    rows = [int(name.rpartition("-")[2]) for name in test.example_ids]
    np.testing.assert_array_equal(test.labels, source.target[rows])
    np.testing.assert_allclose(test.images[..., 0] / 255, source.images[rows] / 16, atol=0.5 / 255)


def test_the_split_is_stratified():
    share = [
        np.bincount(load_dataset("digits", split).labels) / n
        for split, n in (("train", 1197), ("test", 600))
    ]
    np.testing.assert_allclose(share[0], share[1], atol=1 / 600)


def test_shape_and_types():
    digits = load_dataset("digits", "train")
    assert digits.images.dtype == np.uint8
    assert digits.images.shape == (1197, 8, 8, 1)
    assert digits.images.max() == 255
    assert digits.labels.dtype == np.int64
    assert digits.class_names == tuple("0123456789")
    assert digits.in_memory


def test_another_split_is_refused():
    with pytest.raises(
        InputError,
        match="split: got 'validation', expected 'train' or 'test', the splits of 'digits'",
    ):
        load_dataset("digits", "validation")


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
