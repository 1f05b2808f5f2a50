import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from tfaudit.datasets.corruptions.corrupt import corrupt

PIXELS = 65_536


def noisy(name, value, severity=1, scale="imagenet"):
    images = np.full((4, 256, 256, 1), value, np.uint8)
    return corrupt(images, name, severity, scale=scale, seed=3).ravel()


def assert_drawn(pixels, shares):
    """Assert that pixels have the levels of a distribution, up to chance."""
    expected = shares * 4 * PIXELS
    drawn = np.bincount(pixels, minlength=256)
    common = expected > 20
    rare = expected[~common].sum()
    assert drawn[~common].sum() <= rare + 6 * np.sqrt(rare + 1)
    assert (np.abs(drawn - expected)[common] <= 5 * np.sqrt(expected[common])).all()


@pytest.mark.parametrize("value", [0, 3, 128, 255])
@pytest.mark.parametrize(
    ("severity", "scale", "photons"), [(1, "imagenet", 60), (5, "imagenet", 3), (1, "cifar", 500)]
)
def test_shot_noise_is_poisson(value, severity, scale, photons):
    counts = np.arange(2 * photons + 50)
    shares = stats.poisson.pmf(counts, value / 255 * photons)
    levels = np.rint(np.minimum(counts / photons, 1) * 255).astype(int)
    expected = np.bincount(levels, shares, minlength=256)
    assert_drawn(noisy("shot_noise", value, severity, scale), expected)


def test_gaussian_noise_is_normal_rounded_and_clipped():
    edges = np.concatenate([[-np.inf], np.arange(255) + 0.5, [np.inf]])
    assert_drawn(noisy("gaussian_noise", 100), np.diff(stats.norm.cdf(edges, 100, 0.08 * 255)))


def test_impulses_are_half_black_half_white():
    shares = np.bincount(noisy("impulse_noise", 100, 5), minlength=256) / (4 * PIXELS)
    assert_allclose(shares[[0, 100, 255]], [0.135, 0.73, 0.135], atol=0.004)


def test_speckle_grows_with_the_pixel():
    assert (noisy("speckle_noise", 0) == 0).all()
    for value in (40, 100):
        assert noisy("speckle_noise", value).std() == pytest.approx(0.15 * value, rel=0.01)
