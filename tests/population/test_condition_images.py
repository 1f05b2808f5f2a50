"""The images of a condition: the same from memory and from a stream, and nothing left behind."""

import dataclasses
import errno
import io
import tempfile

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tests.builders import released_pipeline
from tests.builders.image_streams import image_sets
from tests.builders.refusals import assert_refused
from tests.builders.small_stores import small_study
from tfaudit.datasets.corruptions.corrupt import corrupt
from tfaudit.datasets.loading import load_dataset
from tfaudit.population import condition_images as module
from tfaudit.population.condition_images import check_conditions, condition_images
from tfaudit.population.stored_examples import load_test
from tfaudit.study.conditions import Condition

STUDY = small_study(
    dataset="mock:mnist",
    model="lenet",
    seed=7,
    corruptions=("shot_noise", "fog"),
    benchmarks=("mock:mnist_corrupted/fog",),
)
SHOT = Condition("shot_noise", 4)
PIXELS = np.random.default_rng(0).integers(0, 256, (23, 28, 28, 1), dtype=np.uint8)


def dataset(streams=False, pixels=PIXELS):
    numbers = np.arange(len(pixels))
    classes = tuple("0123456789")
    sets = image_sets("made up", "test", classes, pixels, numbers % 10, numbers.astype(str))
    return sets[streams]


@pytest.fixture
def folder(monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("batch", [1, 5, 256])
def test_a_streaming_set_gives_the_same_images_whatever_the_batches(folder, monkeypatch, batch):
    monkeypatch.setattr(module, "BATCH", batch)
    memory, stream = (
        condition_images(STUDY, dataset(streams), SHOT).images for streams in (False, True)
    )
    assert_array_equal(memory, corrupt(PIXELS, "shot_noise", 4, seed=7))
    assert isinstance(stream, np.memmap)
    assert_array_equal(stream, memory)
    left = [
        path for path in folder.iterdir() if path.suffix != ".py" and path.name != "__pycache__"
    ]  # autograph's
    assert not left, "the file has a name"


def test_bicubic_scaling_takes_corrupted_images_once_more():
    """As the released code of [F] reads ImageNet-C, whose images were cut when they were made."""
    plain = dataclasses.replace(STUDY, limit=5, image_size=36, crop=32)
    study = dataclasses.replace(plain, bicubic=True)
    cut = corrupt(load_test(plain).images, "shot_noise", 4, seed=7)
    stored = load_dataset("mock:mnist_corrupted/fog", "test").images[:5]
    for condition, images in ((SHOT, cut), (study.conditions[-1], stored)):
        found = condition_images(study, load_test(study), condition).images
        expected = [released_pipeline.as_tested(image, 36, 32) for image in images]
        assert_allclose(found, expected, atol=0.01)


def test_a_full_disk_is_one_line(folder, monkeypatch):
    class Full(io.BytesIO):
        def write(self, _):
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(tempfile, "TemporaryFile", Full)
    assert_refused(
        r"corruptions: got no space in .* for 0.0 GB .*No space left.*TMPDIR",
        condition_images,
        STUDY,
        dataset(streams=True),
        SHOT,
    )


@pytest.mark.parametrize(
    ("pixels", "message"),
    [
        (PIXELS[:, :6, :6], "images: got 6 x 6 pixels, expected at least 8 x 8"),
    ],
)
def test_what_cannot_be_corrupted_is_told_before_a_run(pixels, message):
    check_conditions(STUDY, dataset())
    check_conditions(small_study(), dataset(pixels=pixels))
    assert_refused(message, check_conditions, STUDY, dataset(pixels=pixels))
