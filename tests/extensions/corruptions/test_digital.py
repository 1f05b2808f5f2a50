import cv2
import numpy as np
import pytest
from scipy.ndimage import map_coordinates
from skimage.filters import gaussian

from tfaudit.datasets.corruptions.corrupt import corrupt
from tfaudit.datasets.corruptions.registry import CORRUPTIONS, SEVERITIES


@pytest.mark.parametrize("severity", SEVERITIES)
@pytest.mark.parametrize("shape", [(96, 96), (60, 81)])
def test_the_same_draws_give_the_pixels_of_the_reference(small_photographs, severity, shape):
    image = np.ascontiguousarray(small_photographs[0, : shape[0], : shape[1]])
    height, width = shape
    strength, sigma, shift = CORRUPTIONS["elastic_transform"].imagenet[severity - 1]
    rng = np.random.Generator(np.random.Philox(key=np.array((4, 0), np.uint64)))
    centre, square = np.float32(shape) // 2, min(shape) // 3
    points = np.float32(
        [centre + square, [centre[0] + square, centre[1] - square], centre - square],
    )
    affine = cv2.getAffineTransform(
        points, points + rng.uniform(-shift, shift, (3, 2)).astype(np.float32)
    )
    moved = cv2.warpAffine(
        image.astype(float), affine, (width, height), borderMode=cv2.BORDER_REFLECT_101
    )
    noise = rng.random((2, height, width), np.float32) * 2.0 - 1
    right, down = (gaussian(field, sigma, mode="reflect", truncate=3) * strength for field in noise)
    rows, columns = np.indices(shape)
    expected = [
        map_coordinates(moved[..., c], (rows + down, columns + right), order=1, mode="reflect")
        for c in range(3)
    ]
    apart = np.abs(
        corrupt(image[np.newaxis], "elastic_transform", severity, seed=4, scale="imagenet")[0]
        - np.stack(expected, 2)
    )
    # OpenCV interpolates in steps of 1/32 pixel, and ours rounds between the two maps.
    assert apart.mean() < 0.5
    assert np.quantile(apart, 0.99) < 4


def test_cifars_displacements_grow_with_the_image(small_photographs):
    small, large = (np.stack([cv2.resize(small_photographs[0], (e, e))] * 40) for e in (32, 64))
    for severity in (1, 5):
        far = [
            np.abs(
                corrupt(images, "elastic_transform", severity, scale="cifar") - images.astype(float)
            ).mean()
            for images in (small, large)
        ]
        assert far[1] == pytest.approx(far[0], rel=0.25)
