import numpy as np
import pytest
import tensorflow as tf
from numpy.testing import assert_allclose, assert_array_equal

from tests.builders.image_streams import image_sets
from tests.builders.refusals import assert_refused
from tfaudit.errors import InputError

RANDOM = np.random.default_rng(0)
PIXELS = RANDOM.integers(0, 256, (50, 6, 5, 3)).astype(np.uint8)
LABELS = np.arange(50) % 4
IDS = np.array([f"i{i}" for i in range(50)])


def sets(labels=LABELS, **facts):
    return image_sets("x", "test", tuple("abcd"), PIXELS, labels, IDS, **facts)


both = pytest.mark.parametrize("dataset", sets(), ids=["in memory", "streaming"])


@both
def test_batches_give_every_example_in_order(dataset):
    for _ in range(2):
        images, labels = zip(*dataset.batches(16).as_numpy_iterator(), strict=True)
        assert [len(batch) for batch in labels] == [16, 16, 16, 2]
        assert_array_equal(np.concatenate(images), PIXELS)
        assert_array_equal(np.concatenate(labels), LABELS)
    assert dataset.batches(16).element_spec == (
        tf.TensorSpec((None, 6, 5, 3), tf.float32),
        tf.TensorSpec((None,), tf.int64),
    )


@both
def test_labels_ids_head_and_moments(dataset):
    assert_array_equal(dataset.labels, LABELS)
    assert dataset.labels.dtype == np.int64
    assert_array_equal(dataset.example_ids, IDS)
    assert_array_equal(dataset.head(7), PIXELS[:7])
    assert dataset.head(7).dtype == np.uint8
    assert len(dataset.head(99)) == 50
    mean, std = dataset.moments()
    assert_allclose(mean, PIXELS.mean(axis=(0, 1, 2)))
    assert_allclose(std, PIXELS.std(axis=(0, 1, 2)))


@both
def test_take_keeps_the_first(dataset):
    few = dataset.take(5)
    assert (few.num_examples, few.num_classes, few.in_memory) == (5, 4, dataset.in_memory)
    assert_array_equal(few.example_ids, IDS[:5])
    assert dataset.take(500).num_examples == 50


@both
@pytest.mark.parametrize("call", ["batches", "head", "take"])
def test_numbers_below_one_are_refused(dataset, call):
    assert_refused(": got 0, expected (a whole number of )?1 or more", getattr(dataset, call), 0)


def test_a_streaming_set_points_to_batches():
    with pytest.raises(InputError, match="read it with batches"):
        _ = sets()[1].images


def test_images_of_many_sizes_need_one():
    _, varying = sets(image_shape=(None, None, 3))
    assert_array_equal(varying.labels, LABELS)
    assert_refused("image_size=224", varying.batches, 2)


def test_a_split_without_labels_is_refused():
    with pytest.raises(
        InputError, match="labels: got -1 to -1 in split 'test' of 'x', expected 0 to 3"
    ):
        _ = sets(labels=np.full(50, -1))[1].labels
