import numpy as np
import pytest
import tensorflow as tf
from numpy.testing import assert_array_equal

from tfaudit.datasets.augmentation import AUGMENTATIONS, find_augmentation, flip, shift

IMAGES = np.random.default_rng(0).integers(1, 256, (400, 7, 6, 3)).astype(np.uint8)


@pytest.mark.slow
@pytest.mark.parametrize("name", AUGMENTATIONS)
@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
def test_the_contract(name, dtype):
    change = find_augmentation(name)
    images = tf.constant(IMAGES[:40].astype(dtype))
    one, two, other = (
        change(images, tf.constant(seed)).numpy() for seed in ([3, 1], [3, 1], [3, 2])
    )
    assert (one.shape, one.dtype) == (images.shape, dtype)
    assert_array_equal(one, two)
    assert (one == other).all() == (name == "none")


def test_flip_mirrors_about_half():
    out = flip(IMAGES, tf.constant([0, 0])).numpy()
    mirrored = (out == IMAGES[:, :, ::-1]).all(axis=(1, 2, 3))
    assert (mirrored ^ (out == IMAGES).all(axis=(1, 2, 3))).all()
    assert 160 < mirrored.sum() < 240  # four standard deviations


@pytest.mark.parametrize("pixels", [1, 4])
def test_shift_is_a_crop_of_the_padded_image(pixels):
    out = shift(IMAGES, tf.constant([0, 0]), pixels=pixels).numpy()
    padded = np.pad(IMAGES, [(0, 0), (pixels, pixels), (pixels, pixels), (0, 0)])
    places = [(y, x) for y in range(2 * pixels + 1) for x in range(2 * pixels + 1)]
    hits = np.stack(
        [(out == padded[:, y : y + 7, x : x + 6]).all(axis=(1, 2, 3)) for y, x in places]
    )
    assert (hits.sum(axis=0) == 1).all()
    if pixels == 1:
        assert hits.sum(axis=1).min() > 400 / 9 / 2  # every place is taken
