import itertools

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from tests.builders.refusals import assert_refused
from tfaudit.datasets.corruptions.corrupt import corrupt
from tfaudit.datasets.corruptions.registry import SCALES, SEVERITIES, corruption_names

NAMES = corruption_names()
DETERMINISTIC = {
    "defocus_blur", "zoom_blur", "brightness", "contrast", "pixelate", "jpeg_compression", "gaussian_blur", "saturate",
}  # fmt: skip
# The reference's own constants go up and down here.
NOT_MONOTONE = {
    "imagenet": {"glass_blur", "snow", "frost", "elastic_transform", "spatter", "saturate"},
    "cifar": {"glass_blur", "motion_blur", "frost", "elastic_transform", "spatter", "saturate"},
}
contract = pytest.mark.parametrize("name", NAMES)


def noise_images(rng, *shape):
    return rng.integers(0, 256, shape, dtype=np.uint8)


def test_the_names_are_the_benchmarks():
    assert NAMES == (
        "gaussian_noise", "shot_noise", "impulse_noise", "defocus_blur", "glass_blur", "motion_blur", "zoom_blur",
        "snow", "frost", "fog", "brightness", "contrast", "elastic_transform", "pixelate", "jpeg_compression",
        "speckle_noise", "gaussian_blur", "spatter", "saturate",
    )  # fmt: skip


SHAPES = [(2, 8, 8, 1), (1, 8, 9, 3), (1, 17, 40, 1), (1, 130, 75, 3)]


@contract
def test_every_size_and_channel_count(rng, name):
    for shape, scale, severity in itertools.product(SHAPES, SCALES, SEVERITIES):
        images = noise_images(rng, *shape)
        before = images.copy()
        corrupted = corrupt(images, name, severity, scale=scale)
        assert (corrupted.shape, corrupted.dtype) == (shape, np.uint8)
        assert not np.shares_memory(corrupted, images)
        assert_array_equal(images, before)


@contract
def test_batching_changes_nothing(rng, name):
    images = noise_images(rng, 5, 32, 24, 3)[:, :, ::-1]  # any strides are taken
    whole = corrupt(images, name, 3, seed=7)
    parts = [corrupt(images[a:b], name, 3, seed=7, first=a) for a, b in ((0, 1), (1, 4), (4, 5))]
    assert_array_equal(np.concatenate(parts), whole)


@contract
def test_a_seed_fixes_the_bits(rng, name):
    images = np.repeat(noise_images(rng, 1, 32, 32, 3), 2, 0)
    one, same, other = (corrupt(images, name, 4, seed=seed) for seed in (1, 1, 2))
    assert_array_equal(one, same)
    assert (one == other).all() == (name in DETERMINISTIC)
    assert (one[0] == one[1]).all() == (name in DETERMINISTIC)  # every image has its own stream


def test_the_stream_of_an_image_is_numpys_philox_keyed_by_seed_and_number():
    images = np.full((3, 16, 16, 1), 128, np.uint8)
    key = np.array((9, 7), np.uint64)
    bits = np.random.Philox(key=key).random_raw(64).view(np.uint16).reshape(16, 16)
    impulses = corrupt(images, "impulse_noise", 1, seed=9, first=5, scale="imagenet")[2, ..., 0]
    pepper = round(0.015 * 2**16)
    expected = np.where(bits < pepper, 0, np.where(bits >= 2**16 - pepper, 255, 128))
    assert_array_equal(impulses, expected)


@contract
def test_nobody_elses_random_numbers_are_touched(rng, name):
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    corrupt(noise_images(rng, 1, 16, 16, 1), name, 1)
    assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002


@pytest.mark.slow
@contract
def test_more_severe_is_farther_from_the_clean_image(small_photographs, name):
    for scale, step in (("imagenet", 1), ("cifar", 3)):
        images = np.ascontiguousarray(small_photographs[:, ::step, ::step])
        far = [
            np.abs(corrupt(images, name, s, scale=scale).astype(int) - images).mean()
            for s in SEVERITIES
        ]
        assert far[0] > 0
        assert (np.diff(far) > 0).all() or name in NOT_MONOTONE[scale]


@contract
def test_grey_images_keep_the_figures_of_their_colour_twins(small_photographs, name):
    grey = np.ascontiguousarray(small_photographs[..., 1:2])
    colour = np.repeat(grey, 3, 3)
    as_grey, as_colour = (
        corrupt(images, name, 2, scale="imagenet").astype(float) for images in (grey, colour)
    )
    luma = as_colour @ np.array([0.299, 0.587, 0.114])
    assert abs(as_grey.mean() - luma.mean()) < (1 if name != "frost" else 2)


@contract
def test_black_and_white_images_are_no_trouble(name):
    for value in (0, 255):
        images = np.full((1, 32, 32, 3), value, np.uint8)
        for severity in SEVERITIES:
            assert corrupt(images, name, severity).shape == images.shape


def test_the_scale_goes_by_the_shorter_side(rng):
    for edge, scale in ((64, "cifar"), (65, "imagenet")):
        images = noise_images(rng, 1, edge, 80, 1)
        default, named = corrupt(images, "contrast", 1), corrupt(images, "contrast", 1, scale=scale)
        assert_array_equal(default, named)


def test_no_images_give_no_images():
    assert corrupt(np.empty((0, 8, 8, 3), np.uint8), "fog", 1).shape == (0, 8, 8, 3)


IMAGES = np.zeros((1, 8, 8, 3), np.uint8)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"images": IMAGES.astype(np.float32)},
            r"got float32 \(1, 8, 8, 3\), expected a uint8 array",
        ),
        (
            {"images": [IMAGES[0], IMAGES[0, :5]]},
            r"images: got a list, expected a uint8 array \(N, H, W, C\), C is 1 or 3$",
        ),
        ({"images": IMAGES[:, :7]}, "images: got 7 x 8 pixels, expected at least 8 x 8"),
        ({"name": "mist"}, "name: got 'mist', expected " + ", ".join(map(repr, NAMES[:-1]))),
        ({"severity": 0}, "severity: got 0, expected 1 to 5"),
        ({"severity": 2.0}, r"severity: got 2\.0, expected 1 to 5"),
        ({"seed": -1}, r"seed: got -1, expected a whole number from 0 to 2\*\*63 - 1"),
        ({"first": 2**63}, f"first: got {2**63}, expected a whole number from 0 to"),
        ({"scale": "mnist"}, "scale: got 'mnist', expected 'imagenet', 'cifar' or None"),
        (
            {"textures": ["a.png"]},
            "textures: got textures for 'fog', expected none, as it takes no textures",
        ),
    ],
)
def test_what_cannot_be_corrupted(options, message):
    assert_refused(message, corrupt, **{"images": IMAGES, "name": "fog", "severity": 1, **options})
