"""Mocks of the papers' data sets: every one loads, streams or not, and is the same everywhere."""

import zlib

import pytest
import tensorflow_datasets as tfds
from numpy.testing import assert_array_equal

from tests.builders.refusals import assert_refused
from tfaudit.datasets.catalogue import test_split as split_to_test
from tfaudit.datasets.loading import is_available, load_dataset
from tfaudit.datasets.mock import MOCK_EXAMPLES

SETS = {  # image shape, classes, group columns
    "imagenet2012": ((None, None, 3), 1000, 0),
    "celeb_a": ((218, 178, 3), 2, 40),
    "cifar10": ((32, 32, 3), 10, 0),
    "cifar100": ((32, 32, 3), 100, 1),
    "svhn_cropped": ((32, 32, 3), 10, 0),
    "mnist": ((28, 28, 1), 10, 0),
    "fashion_mnist": ((28, 28, 1), 10, 0),
    "kmnist": ((28, 28, 1), 10, 0),
    "qmnist": ((28, 28, 1), 10, 2),
    "emnist/byclass": ((28, 28, 1), 62, 0),
}


def mock(name, split="train", **options):
    return load_dataset(f"mock:{name}", split, **options)


@pytest.mark.slow
@pytest.mark.parametrize("name", SETS)
def test_the_structure_is_the_sets_own(name):
    shape, classes, groups = SETS[name]
    dataset = mock(name, split_to_test(f"mock:{name}"))
    assert (dataset.image_shape, dataset.num_classes) == (shape, classes)
    assert dataset.in_memory == (None not in shape)
    assert dataset.groups.shape == (MOCK_EXAMPLES, groups)
    assert len(set(dataset.example_ids)) == MOCK_EXAMPLES
    assert dataset.labels.tolist() == [i % min(8, classes) for i in range(MOCK_EXAMPLES)]
    square = (
        dataset if dataset.in_memory else mock(name, split_to_test(name), image_size=40, crop=32)
    )
    images, labels = next(iter(square.batches(MOCK_EXAMPLES)))
    assert images.shape[0] == MOCK_EXAMPLES
    assert images.numpy().std() > 10
    assert_array_equal(labels, dataset.labels)


@pytest.mark.slow
def test_celeba_is_blond_or_not_and_keeps_the_other_attributes():
    faces = mock("celeb_a")
    assert faces.class_names == ("non-blond", "blond")
    own = tfds.builder("celeb_a", data_dir="/nowhere").info.features
    assert set(faces.groups) == set(own["attributes"]) - {"Blond_Hair"} | {"Identity_No"}
    assert faces.groups["Male"].dtype == bool
    assert 0 < faces.groups["Male"].mean() < 1


@pytest.mark.slow
def test_splits_differ_and_can_be_sliced():
    train, test = mock("cifar10"), mock("cifar10", "test")
    assert (train.images != test.images).any()
    part = mock("cifar10", "train[25%:50%]")
    assert_array_equal(part.images, train.images[16:32])
    assert_array_equal(part.example_ids, train.example_ids[16:32])
    assert_refused(
        "split: got 'nope', expected one of 'test', 'train', 'validation' of 'mock:cifar10'",
        mock,
        "cifar10",
        "nope",
    )


def test_a_mock_is_the_same_in_every_process():
    """As in another process and on another day; PNG keeps every bit of NumPy's generator."""
    assert zlib.crc32(mock("cifar100").images.tobytes()) == 1_246_447_403


def test_available_data_sets():
    assert is_available("digits")
    assert is_available("mock:imagenet2012")
    assert not any(is_available(name) for name in ("imagenet2012", "qmnist", "cifar10:3.0.2"))
    assert_refused(
        "name: got 'no_such_set', expected a data set's name",
        is_available,
        "no_such_set",
    )


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "digits",
            "name: got 'mock:digits', expected 'digits', which comes with tfaudit and needs no mock",
        ),
        ("ag_news_subset", "expected one feature 'image'"),
        ("mock:mnist", "expected NAME, NAME/CONFIG or NAME:VERSION"),
    ],
)
def test_what_cannot_be_mocked(name, message):
    assert_refused(message, mock, name)
