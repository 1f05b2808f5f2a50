import numpy as np
import pytest
import tensorflow as tf
from numpy.testing import assert_array_equal

from tests.builders.image_streams import image_sets
from tests.builders.refusals import assert_refused
from tfaudit.datasets.augmentation import AUGMENTATIONS
from tfaudit.datasets.pipeline import training_batches

COUNT = 23


NUMBERS = np.arange(COUNT)
IMAGES = np.tile(NUMBERS.astype(np.uint8)[:, None, None, None], (1, 6, 6, 1))
"""Images that show their own number."""

IN_MEMORY, STREAMING = image_sets(
    "numbered", "train", tuple("abc"), IMAGES, NUMBERS % 3, NUMBERS.astype(str)
)
both = pytest.mark.parametrize("dataset", [IN_MEMORY, STREAMING], ids=["in memory", "streaming"])


def run(dataset, steps, **options):
    batches = training_batches(dataset, **{"batch_size": 5, "seed": 1, **options})
    return list(batches.take(steps).as_numpy_iterator())


def order(batches):
    return np.concatenate([images[:, 3, 3, 0] for images, _ in batches]).astype(int)


@both
def test_an_epoch_shows_every_example_once(dataset):
    steps = run(dataset, 15)
    assert [len(labels) for _, labels in steps] == [5, 5, 5, 5, 3] * 3
    epochs = [order(steps[i : i + 5]) for i in (0, 5, 10)]
    for epoch in epochs:
        assert_array_equal(np.sort(epoch), np.arange(COUNT))
    assert len({tuple(epoch) for epoch in epochs}) == 3
    for images, labels in steps:
        assert_array_equal(labels, images[:, 3, 3, 0] % 3)


@both
@pytest.mark.parametrize("batch_size", [5, 23, 30])
def test_batches_across_epochs_have_the_same_order_without_short_ones(dataset, batch_size):
    batches = run(dataset, 9, batch_size=batch_size, across_epochs=True)
    assert {len(labels) for _, labels in batches} == {batch_size}
    whole = order(run(dataset, 12, batch_size=COUNT))
    assert_array_equal(order(batches), whole[: 9 * batch_size])


@both
@pytest.mark.parametrize("augmentation", ["none", "crop_flip"])
def test_a_seed_fixes_every_bit(dataset, augmentation):
    one, two, other = (run(dataset, 12, seed=seed, augmentation=augmentation) for seed in (7, 7, 8))
    for a, b in zip(one, two, strict=True):
        assert_array_equal(a[0], b[0])
        assert_array_equal(a[1], b[1])
    assert any(
        (a[0] != b[0]).any() for a, b in zip(one, other, strict=True) if a[0].shape == b[0].shape
    )
    assert (np.concatenate([b[1] for b in one]) != np.concatenate([b[1] for b in other])).any()


@both
def test_the_global_seed_changes_nothing(dataset):
    runs = []
    for seed in (0, 1):
        tf.random.set_seed(seed)
        runs.append(order(run(dataset, 7)))
    assert_array_equal(*runs)


@both
@pytest.mark.parametrize("across_epochs", [False, True])
def test_a_run_can_go_on_at_any_step(dataset, across_epochs):
    options = {"seed": 3, "augmentation": "flip", "across_epochs": across_epochs}
    whole = run(dataset, 9, **options)
    for start in range(7):  # two epochs and more
        started = run(dataset, 9 - start, start=start, **options)
        for a, b in zip(whole[start:], started, strict=True):
            assert_array_equal(a[0], b[0])
            assert_array_equal(a[1], b[1])


@both
def test_all_members_share_one_structure(dataset):
    specs = {
        str(training_batches(dataset, batch_size=b, seed=s, augmentation=a).element_spec)
        for b, s, a in (
            (50, 9, "none"),
            *((5, seed, name) for seed, name in enumerate(AUGMENTATIONS)),
        )
    }
    assert len(specs) == 1
    batches = training_batches(dataset, batch_size=5, seed=0)
    assert batches.element_spec == (
        tf.TensorSpec((None, 6, 6, 1), tf.float32),
        tf.TensorSpec((None,), tf.int64),
    )
    assert batches.cardinality() == tf.data.INFINITE_CARDINALITY


def test_the_order_is_uniform():
    """Over many epochs the first place goes to every example alike."""
    places = order(run(IN_MEMORY, 400, batch_size=COUNT))[::COUNT]
    from scipy.stats import chisquare

    assert chisquare(np.bincount(places, minlength=COUNT)).pvalue > 0.001


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"batch_size": 0}, "batch_size: got 0, expected 1 or more"),
        ({"seed": -1}, "seed: got -1, expected 0 to 2147483647"),
        (
            {"augmentation": "spin"},
            "augmentation: got 'spin', expected 'none', 'flip', 'shift', 'crop_flip', ",
        ),
    ],
)
def test_bad_arguments(options, message):
    assert_refused(message, run, IN_MEMORY, 1, **options)
