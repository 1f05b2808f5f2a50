import numpy as np
import pytest
from numpy.testing import assert_array_equal

from tests.builders.image_streams import image_sets
from tests.builders.refusals import assert_refused
from tfaudit.datasets.loading import load_dataset
from tfaudit.datasets.validation import split_validation

COUNT = 2000


def streaming():
    """Images that show their own number, modulo 256."""
    numbers = np.arange(COUNT)
    pixels = numbers.astype(np.uint8)[:, None, None, None]
    rows = (pixels, numbers % 4, numbers.astype(str))
    return image_sets("s", "train", tuple("abcd"), *rows)[1]


@pytest.mark.slow
def test_a_streaming_set_is_parted_by_its_ids():
    train, validation = split_validation(streaming(), 0.2, seed=3)
    assert (train.split, validation.split) == ("train", "validation")
    parts = [np.array(part.example_ids, int) for part in (train, validation)]
    assert_array_equal(np.sort(np.concatenate(parts)), np.arange(COUNT))
    assert [part.num_examples for part in (train, validation)] == [len(part) for part in parts]
    assert abs(len(parts[1]) - 400) < 4 * np.sqrt(COUNT * 0.2 * 0.8)
    for part, numbers in zip((train, validation), parts, strict=True):
        images, labels = next(iter(part.batches(COUNT)))
        assert_array_equal(images.numpy().ravel(), numbers % 256)
        assert_array_equal(labels, numbers % 4)


@pytest.mark.slow
def test_the_seed_alone_decides():
    first, again, other = (
        set(split_validation(streaming(), 0.5, seed=s)[1].example_ids) for s in (1, 1, 2)
    )
    assert first == again
    assert abs(len(first & other) - COUNT / 4) < 4 * np.sqrt(
        COUNT * 3 / 16
    )  # as two independent halves
    taken = set(split_validation(streaming().take(500), 0.5, seed=1)[1].example_ids)
    assert taken == {name for name in first if int(name) < 500}


def test_validation_is_a_stratified_partition():
    digits = load_dataset("digits", "train")
    train, validation = split_validation(digits, 0.2, seed=4)
    assert (train.split, validation.split) == ("train", "validation")
    assert validation.num_examples == 240  # ceil(0.2 * 1197)
    assert {*train.example_ids} | {*validation.example_ids} == {*digits.example_ids}
    assert not {*train.example_ids} & {*validation.example_ids}
    assert np.ptp(np.bincount(validation.labels) / np.bincount(digits.labels)) < 0.02
    again, other = (
        split_validation(digits, 0.2, seed=4)[1],
        split_validation(digits, 0.2, seed=5)[1],
    )
    assert_array_equal(again.images, validation.images)
    assert (other.example_ids != validation.example_ids).any()


def test_validation_that_cannot_be():
    digits = load_dataset("digits", "train")
    for fraction in (0, 1, -0.1, float("nan")):
        assert_refused(
            f"fraction: got {fraction}, expected a number in",
            split_validation,
            digits,
            fraction,
            seed=0,
        )
    assert_refused(
        r"fraction: got 0.2 of 12 examples, expected one that can be stratified",
        split_validation,
        digits.take(12),
        0.2,
        seed=0,
    )
    assert_refused(
        r"fraction: got 0.001 of 3 examples, expected one that leaves no part empty",
        split_validation,
        streaming().take(3),
        0.001,
        seed=0,
    )
