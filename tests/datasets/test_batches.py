"""Batches in the forms that Keras takes end where they say, and those that never end are refused."""

import itertools
import re

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from tests.builders.refusals import assert_refused
from tfaudit.datasets.batches import read_batches
from tfaudit.datasets.examples import read_examples

X, Y = np.arange(12.0).reshape(6, 2), np.arange(6) % 3
PAIRS = [(X[:4], Y[:4]), (X[4:], Y[4:])]


class Loader:
    """A length, and no items, as torch's DataLoader; a batch is a list."""

    def __len__(self):
        return 2

    def __iter__(self):
        return map(list, PAIRS)


class Flow(Loader):
    """Iterated, it starts again and again, as ImageDataGenerator.flow; its state is that of an earlier pass."""

    def __iter__(self):
        return self

    def __next__(self):
        return PAIRS[1]

    def __getitem__(self, index):
        return PAIRS[index]


class Numbered:
    """A PyDataset: items by number without an end, and perhaps the number of batches."""

    def __init__(self, count):
        self.count = count

    def __iter__(self):
        return (self[index] for index in itertools.count())

    def __getitem__(self, index):
        return X[4 * index : 4 * index + 4], Y[4 * index : 4 * index + 4]

    @property
    def num_batches(self):
        if self.count == "unknown":
            raise NotImplementedError
        return self.count


class Endless(Loader):
    """A repeated tf.data.Dataset."""

    element_spec = None

    def __iter__(self):
        return itertools.cycle(PAIRS)

    def cardinality(self):
        return -1


@pytest.mark.parametrize("form", [PAIRS, iter(PAIRS), Loader(), Flow(), Numbered(2)])
def test_known_lengths_are_used(form):
    examples = read_examples(form, "own")
    assert_array_equal(examples.x, X)
    assert_array_equal(examples.labels, Y)


@pytest.mark.parametrize(
    ("form", "message"),
    [
        (Numbered(None), "images: got an endless Numbered, expected one with a length"),
        (Numbered("unknown"), "got an endless Numbered"),
        (Endless(), "got an endless tf.data.Dataset"),
        (itertools.cycle(PAIRS), "got a cycle that starts again after 2 batches, expected batches"),
        ((np.zeros(3) for _ in itertools.count()), "got a generator that starts again after 1 ba"),
        (itertools.cycle(map(np.array, "abc")), "starts again after 3 batches"),
        ("images.npy", "got str, expected an array, a data set or an iterable of batches"),
        (7, "got int, expected"),
    ],
)
def test_endless_batches_get_one_line(form, message):
    def read_all():
        return [*itertools.islice(read_batches(form, "images"), 1000)]

    assert_refused(re.escape(message), read_all)
    if not isinstance(form, str | int):
        assert len([*read_batches(form, "images", most=5)]) == 5


def test_what_repeats_itself_and_ends_is_read():
    for batches in ([*"ab"] * 16, [*"abc" * 10, "a"], ["a"] * 32, [*"aab"] * 7):
        assert [*read_batches(iter(batches), "images")] == batches
