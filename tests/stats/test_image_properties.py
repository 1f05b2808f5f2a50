"""Image properties against scikit-learn, Pillow, SciPy and [P]; their symmetries; their degenerate cases."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from sklearn.neighbors import NearestCentroid

from tests.builders.refusals import assert_refused
from tfaudit.datasets.idx import read_idx
from tfaudit.stats.image_properties import (
    class_means,
    distance_to_class_mean,
    mean_activation,
    pixel_entropy,
    tilt,
)

IMAGES = np.random.default_rng(0).integers(0, 256, (30, 9, 7, 3), dtype=np.uint8)
LABELS = np.arange(30) % 4
MEASURES = [tilt, mean_activation, pixel_entropy]


def test_tilt_is_the_slope_of_a_regression():
    on = IMAGES.mean(-1) > 127.5
    expected = [stats.linregress(*np.nonzero(image)).slope for image in on]
    assert_allclose(tilt(IMAGES), expected)


def test_tilt_has_the_signs_of_the_paper():
    """[P] appendix C: vertical = 0, positive to the left, negative to the right."""
    left = np.eye(28, dtype=np.uint8) * 255  # its top leans to the left
    upright = np.zeros((28, 28), np.uint8)
    upright[4:24, 13:15] = 255
    assert_allclose(tilt([left, upright, left[:, ::-1]]), [1, 0, -1], atol=1e-12)
    assert_allclose(tilt(IMAGES[:, :, ::-1]), -tilt(IMAGES))
    assert_allclose(tilt(IMAGES[:, ::-1]), -tilt(IMAGES))


def test_tilt_without_a_line():
    row = np.zeros((5, 5))
    row[2] = 1
    point = np.zeros((5, 5))
    point[2, 3] = 1
    assert np.isnan(tilt([np.zeros((5, 5)), np.ones((5, 5)), row, point])).all()
    assert_array_equal(tilt([row.T]), 0)


def test_threshold_decides_what_is_on():
    image = np.array([[200, 0, 0], [0, 200, 0], [0, 0, 200], [90, 0, 0]], np.uint8)
    on = np.nonzero(image > 0)
    assert tilt([image], threshold=0)[0] == pytest.approx(stats.linregress(*on).slope)
    assert tilt([image])[0] == pytest.approx(1)


def test_entropy_counts_all_channels_together():
    expected = [stats.entropy(np.unique(image, return_counts=True)[1], base=2) for image in IMAGES]
    assert_allclose(pixel_entropy(IMAGES), expected)
    ramp = np.arange(256, dtype=np.uint8).reshape(1, 16, 16)
    assert pixel_entropy(ramp)[0] == pytest.approx(8)
    assert pixel_entropy(np.full((1, 4, 4), 9, np.uint8))[0] == 0


def test_activation_is_the_mean():
    assert_allclose(mean_activation(IMAGES), [image.mean() for image in IMAGES])


def test_class_means_are_centroids():
    means = class_means(IMAGES, LABELS, 5)
    centroids = NearestCentroid().fit(IMAGES.reshape(30, -1).astype(float), LABELS).centroids_
    assert_allclose(means[:4].reshape(4, -1), centroids)
    assert np.isnan(means[4]).all()


def test_distance_is_euclidean():
    means = class_means(IMAGES, LABELS, 4)
    expected = [
        np.linalg.norm((image - means[c]).ravel()) for image, c in zip(IMAGES, LABELS, strict=True)
    ]
    assert_allclose(distance_to_class_mean(IMAGES, LABELS, means), expected)
    unknown = class_means(IMAGES[LABELS > 0], LABELS[LABELS > 0], 4)
    assert_array_equal(np.isnan(distance_to_class_mean(IMAGES, LABELS, unknown)), LABELS == 0)


@pytest.mark.parametrize("measure", MEASURES)
def test_a_form_of_the_images_plays_no_part(measure):
    plain = measure(IMAGES)
    assert_allclose(measure(list(IMAGES)), plain)
    assert_allclose(measure(image for image in IMAGES), plain)
    assert_allclose(measure(IMAGES / 255), plain)
    assert_allclose(measure((IMAGES / 255).astype(np.float32)), plain, rtol=1e-5)
    assert_array_equal(measure(IMAGES[..., 0]), measure(IMAGES[..., :1]))
    order = np.random.default_rng(1).permutation(30)
    assert_array_equal(measure(IMAGES[order]), plain[order])


def test_batches_agree(monkeypatch):
    whole = [measure(IMAGES) for measure in MEASURES]
    means = class_means(IMAGES, LABELS, 4)
    distances = distance_to_class_mean(IMAGES, LABELS, means)
    monkeypatch.setattr("tfaudit.stats.image_properties._BATCH", 7 * IMAGES[0].size)
    for measure, expected in zip(MEASURES, whole, strict=True):
        assert_array_equal(measure(IMAGES), expected)
    assert_allclose(class_means(IMAGES, LABELS, 4), means)
    assert_allclose(distance_to_class_mean(IMAGES, LABELS, means), distances)


@pytest.mark.parametrize("measure", MEASURES)
def test_images_of_many_sizes_and_none(measure):
    sizes = [IMAGES[0], IMAGES[1, :4], IMAGES[2, :, :3, 0]]
    assert_allclose(measure(sizes), [measure([image])[0] for image in sizes])
    assert measure([]).shape == measure(IMAGES[:0]).shape == (0,)


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize(
    ("images", "message"),
    [
        (IMAGES.astype(int), "int64 .* expected uint8, or floats in \\[0, 1\\]"),
        (IMAGES.astype(float), "float64 from 0.0 to 255.0 near image 0"),
        (np.full((2, 3, 3), np.nan), "from nan to nan"),
        ([np.zeros((3, 3)), np.zeros(3)], "image 1 has shape \\(3,\\), expected \\(H, W, C\\)"),
        (np.zeros((3, 3)), "shape \\(3, 3\\), expected \\(N, H, W, C\\)"),
        (np.zeros((2, 0, 3)), "image 0 without pixels"),
    ],
)
def test_bad_images(measure, images, message):
    assert_refused(f"images: .*{message}", measure, images)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: tilt(IMAGES, threshold=1), "threshold: got 1, expected a share in \\[0, 1\\)"),
        (lambda: class_means(list(IMAGES), LABELS, 4), "images: got list, expected one array"),
        (
            lambda: class_means(IMAGES, LABELS[:3], 4),
            "labels: got int64 of shape \\(3,\\), expected one integer .* 30",
        ),
        (
            lambda: class_means(IMAGES, LABELS, 3),
            "labels: got from 0 to 3, expected classes in \\[0, 3\\)",
        ),
        (
            lambda: distance_to_class_mean(IMAGES, LABELS, np.zeros((4, 9, 7, 1))),
            "means: got shape \\(4, 9, 7, 1\\), expected \\(classes, 9, 7, 3\\)",
        ),
    ],
)
def test_bad_arguments(call, message):
    assert_refused(message, call)


@pytest.mark.slow
@pytest.mark.data
def test_digits_lie_where_the_paper_puts_them(real_data):
    """[P] figure 8: writers' mean distances lie between 1,400 and 2,100; figure 11: writing leans to the right."""
    folder = real_data / "mnist"
    images = {part: read_idx(folder / f"{part}-images-idx3-ubyte", 3) for part in ("train", "t10k")}
    labels = {part: read_idx(folder / f"{part}-labels-idx1-ubyte", 1) for part in ("train", "t10k")}
    means = class_means(images["train"], labels["train"], 10)
    distances = distance_to_class_mean(images["t10k"], labels["t10k"], means)
    assert 1400 < distances.mean() < 2100
    assert np.quantile(distances, 0.01) > 800
    assert -0.2 < tilt(images["t10k"]).mean() < -0.05
