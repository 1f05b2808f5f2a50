import io

import numpy as np
import pytest
import tensorflow as tf
from numpy.testing import assert_allclose, assert_array_equal
from PIL import Image
from sklearn.datasets import load_sample_image

from tests.builders.refusals import assert_refused
from tfaudit.datasets.augmentation import resized_crop_flip
from tfaudit.datasets.cropping import (
    centre_crop,
    fit_within,
    random_crop,
    random_crop_encoded,
    resize_and_crop,
)
from tfaudit.datasets.scaling import UNSCALED, Scaling

PHOTO = load_sample_image("china.jpg")  # 427 x 640


def seeds(count):
    return [tf.constant([7, i]) for i in range(count)]


@pytest.mark.parametrize(
    ("size", "crop"), [(256, 224), (96, None), (64, 64), (427, 400), (600, 512)]
)
def test_the_middle_square_is_pillows(size, crop):
    """As torchvision's Resize and CenterCrop on a Pillow image."""
    cut = resize_and_crop(Scaling(size, crop))(PHOTO).numpy()
    edge = crop or size
    width = round(640 * size / 427)
    scaled = np.asarray(Image.fromarray(PHOTO).resize((width, size), Image.Resampling.BILINEAR))
    top, left = (size - edge) // 2, (width - edge) // 2
    expected = scaled[top : top + edge, left : left + edge]
    assert (cut.shape, cut.dtype) == ((edge, edge, 3), np.uint8)
    difference = np.abs(cut.astype(int) - expected)
    assert difference.mean() < 0.5
    assert difference.max() <= 3


def test_a_crop_alone_does_not_scale():
    cropped = resize_and_crop(Scaling(crop=101))(PHOTO)
    assert_array_equal(cropped, PHOTO[163:264, 269:370])
    small = resize_and_crop(Scaling(crop=5))(PHOTO[:3, :3]).numpy()
    assert small.shape == (5, 5, 3)
    assert_array_equal(small[1:4, 1:4], PHOTO[:3, :3])
    assert_array_equal(resize_and_crop(UNSCALED)(PHOTO), PHOTO)


def test_the_centre_crop_is_that_of_the_pipeline():
    for size in (101, 426, 427):
        cropped = resize_and_crop(Scaling(crop=size))(PHOTO)
        assert_array_equal(centre_crop(PHOTO, size), cropped)
    assert_array_equal(centre_crop(PHOTO[None], None), PHOTO[None])


def test_a_centre_crop_refuses_images_that_are_too_small():
    assert_refused(
        "crop: got 9 pixels, expected at most 4, as an image has 4 x 10",
        centre_crop,
        np.zeros((4, 10, 3)),
        9,
    )


def test_random_crops_keep_to_area_and_ratio():
    """Pixels that show their own place tell the rectangle."""
    rows, columns = np.mgrid[0:200, 0:250].astype(np.uint8)
    places = np.stack([rows, columns, columns], axis=-1)
    crops = np.array([random_crop(places, 100, 100, seed) for seed in seeds(300)]).astype(int)
    height = crops[:, 50:, :, 0].mean(axis=(1, 2)) - crops[:, :50, :, 0].mean(axis=(1, 2))
    width = crops[:, :, 50:, 1].mean(axis=(1, 2)) - crops[:, :, :50, 1].mean(axis=(1, 2))
    area, ratio = 4 * height * width / places[..., 0].size, width / height
    assert (area > 0.08 * 0.85).all()
    assert (area < 1.05).all()
    assert area.min() < 0.12
    assert area.max() > 0.7
    assert (ratio > 3 / 4 * 0.9).all()
    assert (ratio < 4 / 3 * 1.1).all()
    assert len({crop.tobytes() for crop in crops}) == 300


@pytest.mark.parametrize("kind", ["JPEG", "PNG"])
def test_an_encoded_image_is_cut_where_the_decoded_one_is(kind):
    content = io.BytesIO()
    Image.fromarray(PHOTO).save(content, kind, **({"quality": 95} if kind == "JPEG" else {}))
    decoded = tf.io.decode_image(content.getvalue(), channels=3)
    for seed in seeds(5):
        one = random_crop_encoded(tf.constant(content.getvalue()), 96, 64, 3, seed).numpy()
        other = random_crop(decoded, 96, 64, seed).numpy()
        assert one.shape == (96, 64, 3)
        if kind == "PNG":
            assert_array_equal(one, other)
        else:  # colours at the edge of a part of a JPEG are interpolated from fewer neighbours
            assert np.abs(one.astype(int) - other)[1:-1, 1:-1].mean() < 0.3


def test_grey_and_tiny_images_are_cut():
    for shape in ((1, 1, 1), (5, 49, 1), (3, 2, 3)):
        image = np.full(shape, 9, np.uint8)
        content = tf.io.encode_png(image)
        for seed in seeds(20):
            crop = random_crop_encoded(content, 8, 8, shape[-1], seed).numpy()
            assert_array_equal(crop, np.full((8, 8, shape[-1]), 9))


def test_batches_are_cut_image_by_image():
    images = tf.constant(np.stack([PHOTO[:40, :60]] * 2))
    one, two = resized_crop_flip(images, tf.constant([1, 2])).numpy()
    assert (one != two).any()
    assert (one != images[0].numpy()).any()


@pytest.mark.parametrize(
    ("edge", "shape"),
    [(96, (64, 96, 3)), (640, (427, 640, 3)), (1000, (427, 640, 3)), (1, (1, 1, 3))],
)
def test_thumbnails_hold_the_whole_image(edge, shape):
    small = fit_within(PHOTO, edge).numpy()
    assert (small.shape, small.dtype) == (shape, np.uint8)
    assert_allclose(small.mean(axis=(0, 1)), PHOTO.mean(axis=(0, 1)), atol=30 if edge == 1 else 1)
