"""Model files of the user's own as architectures."""

from pathlib import Path

import keras
import numpy as np
import pytest
from keras.applications.imagenet_utils import preprocess_input
from numpy.testing import assert_allclose, assert_array_equal

from tests.builders.refusals import assert_refused
from tests.builders.stacks import stack
from tfaudit.compress.litert.quantize import quantize
from tfaudit.models.pretrained import PREPROCESSING, load_pretrained


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    keras.utils.set_random_seed(0)
    model = stack(
        (6, 6, 3),
        keras.layers.Conv2D(4, 3, name="conv"),
        keras.layers.GlobalAveragePooling2D(),
        name="net",
    )
    path = tmp_path_factory.mktemp("model") / "net.keras"
    model.save(path)
    return path


IMAGES = np.random.default_rng(0).integers(0, 256, (5, 6, 6, 3)).astype(np.float32)


@pytest.mark.parametrize("mode", PREPROCESSING)
def test_pixels_go_in_as_keras_applications_prepares_them(file, mode):
    plain = keras.saving.load_model(file)
    known = {"none": IMAGES, "unit": IMAGES / 255}
    prepared = known[mode] if mode in known else preprocess_input(IMAGES.copy(), mode=mode)
    model = load_pretrained(file, (6, 6, 3), mode)
    assert_allclose(model(IMAGES), plain(prepared), rtol=1e-4, atol=1e-4)


@pytest.mark.slow
def test_it_saves_and_converts(file, tmp_path):
    model = load_pretrained(file, (6, 6, 3), "caffe")
    model.save(tmp_path / "whole.keras")
    again = keras.saving.load_model(tmp_path / "whole.keras")
    assert_array_equal(again(IMAGES), model(IMAGES))
    assert len(quantize(model, "int8", representative=IMAGES)) > 1000


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ((8, 6, 3),),
            r"which takes images \(6, 6, 3\), expected \(8, 6, 3\), those of the data set",
        ),
        (
            ((6, 6, 3), "zca"),
            "preprocess: got 'zca', expected 'none', 'unit', 'tf', 'caffe' or 'torch'",
        ),
    ],
)
def test_refusals(file, arguments, message):
    assert_refused(message, load_pretrained, file, *arguments)


@pytest.mark.parametrize("length", [0, 7, 0.5, 0.95])
def test_a_file_that_is_no_model_or_was_cut_off(file, tmp_path, length):
    content = Path(file).read_bytes()
    cut = tmp_path / "cut.keras"
    cut.write_bytes(content[: int(len(content) * length) if length < 1 else length])
    assert_refused(
        r"model: .*cut\.keras, which Keras cannot load \(.+\)", load_pretrained, cut, (6, 6, 3)
    )
