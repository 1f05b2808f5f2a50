import io

import numpy as np
import pytest
import tensorflow as tf
from numpy.testing import assert_allclose, assert_array_equal
from PIL import Image
from scipy.stats import binomtest
from sklearn.datasets import load_sample_image

from tests.builders import released_pipeline
from tests.builders.refusals import assert_refused
from tfaudit.datasets.augmentation import CROPPED_ENCODED, none, resized_crop_flip
from tfaudit.datasets.cropping import (
    centre_crop,
    fit_within,
    random_crop,
    random_crop_encoded,
    resize_and_crop,
)
from tfaudit.datasets.scaling import UNSCALED, Scaling

BICUBIC = Scaling(256, 224, bicubic=True)
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


def test_bicubic_scaling_needs_an_image_size():
    assert_refused("bicubic: got True, expected False, or", Scaling, crop=224, bicubic=True)


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


@pytest.mark.parametrize("shape", [(300, 401), (401, 300), (300, 300), (225, 224), (600, 399)])
def test_bicubic_scaling_is_that_of_the_released_code(shape):
    image = np.random.default_rng(0).integers(0, 256, (*shape, 3), dtype=np.uint8)
    cut = resize_and_crop(BICUBIC)(image).numpy()
    assert (cut.shape, cut.dtype) == ((224, 224, 3), np.float32)
    assert_allclose(cut, released_pipeline.as_tested(image, 256, 224), atol=0.01)
    assert cut.min() < 0
    assert cut.max() > 255


@pytest.mark.slow
@pytest.mark.data
def test_photographs_are_scaled_as_by_the_released_code(real_data):
    for path in sorted((real_data / "imagenet-sample").glob("*.jpg"))[:10]:
        image = np.asarray(Image.open(path).convert("RGB"))
        cut = resize_and_crop(BICUBIC)(image).numpy()
        assert_allclose(cut, released_pipeline.as_tested(image, 256, 224), atol=0.01)


def test_a_single_attempt_covers_a_tenth_or_gives_the_centre():
    """As the released code, in NumPy; pixels that show their own place tell the rectangle."""
    rows, columns = np.mgrid[0:200, 0:250].astype(np.uint8)
    places = np.stack([rows, columns, columns], axis=-1)
    centre = released_pipeline.as_tested(places, 40, 40)
    centres = 0
    for seed in seeds(100):
        crop = random_crop(places, 40, 40, seed, single=True).numpy()
        if np.allclose(crop, centre, atol=0.01):
            centres += 1
            continue
        top, left = crop[0, 0, :2].round().astype(int)
        height = _length(crop[:, 0, 0], top, 200)
        width = _length(crop[0, :, 1], left, 250)
        part = places[top : top + height, left : left + width]
        assert_allclose(crop, released_pipeline.resized(part, 40, 40), atol=0.01)
        assert height * width >= 0.1 * places[..., 0].size
        assert 3 / 4 - 0.01 < width / height < 4 / 3 + 0.01
    assert binomtest(centres, 100, _share_of_centres(200, 250)).pvalue > 0.001


def _length(values, start, count):
    """Return how many pixels of a ramp from `start` on were resized to some values."""
    about = round((values[-1] - start) * len(values) / (len(values) - 1))
    lengths = range(max(about - 4, 1), min(about + 5, count - start + 1))
    ramps = {n: start + np.arange(n)[:, None, None] for n in lengths}
    off = {
        n: np.abs(released_pipeline.resized(ramp, len(values), 1).ravel() - values).max()
        for n, ramp in ramps.items()
    }
    return min(off, key=off.get)


def _share_of_centres(height, width):
    """Simulate TensorFlow's draw: a ratio, then one of the heights at which the area is 8 % to 100 %."""
    draws = np.random.default_rng(1)
    ratio = draws.uniform(3 / 4, 4 / 3, 100_000)
    area = height * width
    least = np.rint(np.sqrt(0.08 * area / ratio))
    most = np.minimum(np.minimum(np.rint(np.sqrt(area / ratio)), (width + 0.5) // ratio), height)
    rows = np.floor(draws.uniform(least, most + 1))
    return np.mean(rows * np.rint(rows * ratio) < 0.1 * area)


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


@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("kind", ["JPEG", "PNG"])
def test_an_encoded_image_is_cut_where_the_decoded_one_is(kind, single):
    content = io.BytesIO()
    Image.fromarray(PHOTO).save(content, kind, **({"quality": 95} if kind == "JPEG" else {}))
    decoded = tf.io.decode_image(content.getvalue(), channels=3)
    for seed in seeds(5):
        encoded = tf.constant(content.getvalue())
        one = random_crop_encoded(encoded, 96, 64, 3, seed, single=single).numpy()
        other = random_crop(decoded, 96, 64, seed, single=single).numpy()
        assert one.shape == (96, 64, 3)
        if kind == "PNG":
            assert_array_equal(one, other)
        else:  # colours at the edge of a part of a JPEG are interpolated from fewer neighbours
            assert np.abs(one.astype(float) - other)[1:-1, 1:-1].mean() < 0.3


def test_grey_and_tiny_images_are_cut():
    for shape in ((1, 1, 1), (5, 49, 1), (3, 2, 3)):
        image = np.full(shape, 9, np.uint8)
        content = tf.io.encode_png(image)
        for seed in seeds(20):
            crop = random_crop_encoded(content, 8, 8, shape[-1], seed).numpy()
            assert_array_equal(crop, np.full((8, 8, shape[-1]), 9))


def test_an_encoded_single_crop_is_mirrored_half_of_the_time():
    crop, left = CROPPED_ENCODED["single_crop_flip"]
    encoded = tf.io.encode_png(PHOTO)
    mirrored = []
    for seed in seeds(12):
        image = crop(encoded, 32, 32, 3, seed).numpy()
        plain = random_crop_encoded(encoded, 32, 32, 3, tf.random.split(seed, 2)[0], single=True)
        mirrored.append(not np.array_equal(image, plain))
        assert_array_equal(image, plain.numpy()[:, ::-1] if mirrored[-1] else plain)
    assert 2 <= sum(mirrored) <= 10
    assert left is none


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
