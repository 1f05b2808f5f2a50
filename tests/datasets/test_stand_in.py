"""Stand-ins for data sets: files as TensorFlow Datasets writes them, at hand only within the block."""

import io
import os

import numpy as np
import pytest
from PIL import Image

from tests.builders.refusals import assert_refused
from tfaudit.datasets.loading import IN_MEMORY_VARIABLE, PreparedData, is_available, load_dataset
from tfaudit.datasets.stand_in import SIZE, stand_ins

COUNTS = {"train": 12, "test": 5}


@pytest.fixture
def at_hand(tmp_path, monkeypatch):
    """An empty folder of prepared data sets, and one for the stand-ins."""
    monkeypatch.setenv("TFDS_DATA_DIR", str(tmp_path / "prepared"))
    (tmp_path / "prepared").mkdir()
    (tmp_path / "made up").mkdir()
    return tmp_path / "made up"


@pytest.fixture
def photograph(tmp_path):
    """A folder with one image, red on its left half."""
    pixels = np.zeros((100, 300, 3), np.uint8)
    pixels[:, :150, 0] = 200
    (tmp_path / "photographs").mkdir()
    Image.fromarray(pixels).save(tmp_path / "photographs" / "one.JPG", "JPEG")
    return tmp_path / "photographs"


def encoded(dataset):
    return [content for content, _, _ in dataset.stream.read(None).as_numpy_iterator()]


@pytest.mark.slow
def test_noise_has_the_size_of_imagenets_files_and_streams(at_hand):
    with stand_ins(["imagenet2012", "digits", "imagenet_a"], at_hand, COUNTS) as missing:
        assert missing == ["imagenet2012", "imagenet_a"]
        train = load_dataset("imagenet2012", "train", image_size=256, crop=224)
        assert (train.num_examples, train.image_shape) == (12, (224, 224, 3))
        assert not train.in_memory
        assert sorted(train.labels) == sorted(i % 8 for i in range(12))
        first = Image.open(io.BytesIO(encoded(train)[0]))
        assert (first.format, first.size) == ("JPEG", SIZE)
        assert 100_000 < len(encoded(train)[0]) < 125_000
        assert load_dataset("imagenet2012", "validation", image_size=64).num_examples == 5
        assert load_dataset("imagenet_a", "test", image_size=64).num_examples == 5
    assert not is_available("imagenet2012")
    assert IN_MEMORY_VARIABLE not in os.environ


@pytest.mark.slow
def test_photographs_keep_their_shape_or_take_that_of_the_set(at_hand, photograph):
    with stand_ins(["imagenet2012", "celeb_a"], at_hand, COUNTS, photograph):
        image = Image.open(
            io.BytesIO(encoded(load_dataset("imagenet2012", "train", image_size=64))[3])
        )
        assert image.width * image.height == pytest.approx(SIZE[0] * SIZE[1], rel=0.01)
        assert image.width == pytest.approx(3 * image.height, rel=0.01)
        faces = load_dataset("celeb_a", "test")
        assert faces.image_shape == (218, 178, 3)
        pixels = next(iter(faces.batches(5)))[0].numpy()
        assert pixels[:, :, :80, 0].mean() > 180
        assert pixels[:, :, 100:].mean() < 20


def test_a_set_at_hand_is_linked_and_one_of_small_images_is_held(at_hand, tmp_path):
    (tmp_path / "prepared" / "other").mkdir()
    with stand_ins(["digits", "mock:imagenet_a"], at_hand, COUNTS) as missing:
        assert missing == []
    assert not list(at_hand.iterdir())  # nothing is to be linked
    with stand_ins(["cifar10"], at_hand, COUNTS) as missing:
        assert missing == ["cifar10"]
        assert load_dataset("cifar10", "test").in_memory
        assert (at_hand / "other").samefile(tmp_path / "prepared" / "other")


def test_bad_input_is_one_line(at_hand, photograph, monkeypatch):
    def enter(name, *photographs):
        with stand_ins([name], at_hand, COUNTS, *photographs):
            pass

    assert_refused("name: got 'no_such_set', expected a data set", enter, "no_such_set")
    assert_refused("photographs: got .*, expected a folder with JPEGs", enter, "cifar10", at_hand)
    (photograph / "one.JPG").write_bytes(b"no image")
    assert_refused("photographs: got .*one.JPG, a damaged image", enter, "cifar10", photograph)
    monkeypatch.setattr(PreparedData, "is_available", lambda self: False)
    monkeypatch.setenv("TFDS_DATA_DIR", "gs://bucket/sets")
    assert_refused("dataset: got 'imagenet_a', which is not prepared", enter, "imagenet_a")
