"""Agreement with the implementations that others use, severity by severity."""

import itertools

import cv2
import numpy as np
import pytest
from numpy.testing import assert_allclose
from skimage.filters import gaussian
from skimage.metrics import structural_similarity

from tests.builders.nightly import and_nightly
from tests.extensions.corruptions.reference import reference, streak, tfds
from tfaudit.datasets.corruptions.corrupt import corrupt
from tfaudit.datasets.corruptions.registry import SEVERITIES
from tfaudit.extensions.corruptions.blur import streaked
from tfaudit.extensions.corruptions.textures import clouds


@pytest.mark.parametrize(
    ("name", "share_off_by_one"),
    [
        ("brightness", 0.06),  # halves: a multiple of 25.5 is added
        ("contrast", 0),
        ("saturate", 0.02),
        ("gaussian_blur", 1e-4),
        ("defocus_blur", 1e-4),
        ("zoom_blur", 1e-4),
        ("pixelate", 0.4),  # Pillow rounds twice
        ("jpeg_compression", 0),
    ],
)
def test_deterministic_ones_equal_the_reference_up_to_rounding(photographs, name, share_off_by_one):
    for size, severity in itertools.product([(224, 224), (61, 45), (32, 32)], SEVERITIES):
        images = np.stack(
            [cv2.resize(image, size, interpolation=cv2.INTER_AREA) for image in photographs]
        )
        ours = corrupt(images, name, severity, scale="imagenet")
        theirs = np.stack([reference(name)(image, severity) for image in images])
        apart = np.abs(ours.astype(int) - theirs)
        assert apart.max() <= 1, (size, severity)
        assert apart.mean() <= share_off_by_one, (size, severity)


def test_pixels_are_cut_as_pillow_cuts_them_at_every_size(rng):
    for height, width in zip(range(8, 120), rng.integers(8, 120, 112), strict=True):
        image = rng.integers(0, 256, (height, width, 3), dtype=np.uint8)
        for severity in SEVERITIES:
            ours = corrupt(image[np.newaxis], "pixelate", severity, scale="imagenet")[0]
            assert np.abs(ours.astype(int) - reference("pixelate")(image, severity)).max() <= 1


@pytest.mark.parametrize(("severity", "sigma"), [(1, 0.4), (2, 0.6), (3, 0.7), (4, 0.8), (5, 1)])
def test_blurs_of_a_few_taps_equal_scikit_images(small_photographs, severity, sigma):
    ours = corrupt(small_photographs, "gaussian_blur", severity, scale="cifar")
    theirs = [
        np.rint(gaussian(image, sigma, channel_axis=-1, preserve_range=True))
        for image in small_photographs
    ]
    assert (np.abs(ours - theirs) > 0).mean() < 1e-4


def figures(corrupted, clean):
    """Of a batch: means, standard deviations and structural similarities, averaged."""
    similar = [
        structural_similarity(a, b, channel_axis=2) for a, b in zip(corrupted, clean, strict=True)
    ]
    return corrupted.mean(), corrupted.std(axis=(1, 2)).mean(), np.mean(similar)


def assert_same_figures(name, images, severity, draws):
    np.random.seed(severity)  # noqa: NPY002 - the reference draws from there
    ours = [
        figures(corrupt(images, name, severity, seed=seed, scale="imagenet"), images)
        for seed in range(draws)
    ]
    theirs = [
        figures(np.stack([reference(name)(image, severity) for image in images]), images)
        for _ in range(draws)
    ]
    deviation = np.sqrt(np.var(ours, 0) + np.var(theirs, 0))
    # Differences expected by chance, plus 0.5 levels of mean, 1 % of the deviation, 0.01 of similarity.
    tolerance = 3.5 * deviation / np.sqrt(draws) + (0.5, 0.01 * np.mean(theirs, 0)[1], 0.01)
    assert (np.abs(np.mean(ours, 0) - np.mean(theirs, 0)) <= tolerance).all()


@pytest.mark.slow
@pytest.mark.parametrize("severity", and_nightly([3], [1, 2, 4, 5]))
@pytest.mark.parametrize(
    ("name", "draws"),
    [
        ("gaussian_noise", 2),
        ("shot_noise", 2),
        ("impulse_noise", 2),
        ("speckle_noise", 2),
        ("glass_blur", 2),
        ("motion_blur", 8),
        ("snow", 16),
        ("elastic_transform", 16),
        ("spatter", 6),
    ],
)
def test_random_ones_have_the_figures_of_the_reference(small_photographs, name, draws, severity):
    assert_same_figures(name, small_photographs, severity, draws)


@pytest.mark.parametrize("severity", and_nightly([3], [1, 2, 4, 5]))
def test_fog_has_the_figures_of_the_reference(photographs_at, severity):
    # TensorFlow Datasets' map is 512 wide at least, ours there too.
    assert_same_figures("fog", photographs_at(288)[:2], severity, draws=4)


@pytest.mark.parametrize("decay", [1.4, 2, 3])
def test_clouds_are_as_rough_as_the_reference_at_every_distance(decay, rng):
    def steps(sky):
        return np.array([np.abs(sky - np.roll(sky, 2**power, 0)).mean() for power in range(6)])

    np.random.seed(0)  # noqa: NPY002
    ours = np.array([steps(clouds(rng, 64, decay)) for _ in range(200)])
    theirs = np.array([steps(tfds.plasma_fractal(64, decay)) for _ in range(200)])
    error = np.sqrt((ours.var(0) + theirs.var(0)) / 200)
    assert (np.abs(ours.mean(0) - theirs.mean(0)) <= 4 * error).all()


@pytest.mark.parametrize(("radius", "sigma"), [(10, 3), (20, 15), (6, 1)])
def test_a_streak_is_the_sum_of_shifted_images(small_photographs, radius, sigma):
    image = small_photographs[0]
    for degrees in (-135, -100.3, -45, -12.5, 0, 33, 45):
        expected = streak(image.astype(float), radius, sigma, degrees)
        found = streaked(image.astype(np.float32), radius, sigma, degrees)
        assert_allclose(found, expected, atol=0.05)


def test_frost_lies_over_the_image_as_in_the_reference(small_photographs, tmp_path):
    weights = ((1, 0.4), (0.8, 0.6), (0.7, 0.7), (0.65, 0.7), (0.6, 0.75))
    flat = np.full((300, 300, 3), (90, 140, 180), np.uint8)
    panes = [tmp_path / "frost.png"]
    cv2.imwrite(str(panes[0]), flat[..., ::-1])
    for severity, (of_image, of_frost) in enumerate(weights, 1):
        ours = corrupt(small_photographs, "frost", severity, scale="imagenet", textures=panes)
        expected = np.rint((of_image * small_photographs + of_frost * flat[0, 0]).clip(0, 255))
        assert np.abs(ours - expected).max() <= 1
