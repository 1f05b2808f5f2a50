import numpy as np
import pytest
from numpy.testing import assert_allclose
from PIL import Image

from tfaudit.datasets.corruptions.corrupt import corrupt
from tfaudit.errors import InputError
from tfaudit.extensions.corruptions.textures import frosted_panes, read_textures


@pytest.fixture
def pane(tmp_path):
    path = tmp_path / "pane.png"
    Image.fromarray(np.full((20, 30, 3), (200, 100, 50), np.uint8)).save(path)
    return path


def test_pictures_are_read_as_rgb(pane):
    assert read_textures([pane])[0][0, 0].tolist() == [200, 100, 50]


def test_a_small_picture_is_enlarged(pane):
    images = np.zeros((1, 100, 70, 3), np.uint8)
    corrupted = corrupt(images, "frost", 5, scale="imagenet", textures=[pane])
    assert (np.abs(corrupted - np.array([150.0, 75, 37.5])) <= 1).all()


def test_grey_images_get_the_luma_of_the_frost(pane):
    images = np.zeros((1, 32, 32, 1), np.uint8)
    corrupted = corrupt(images, "frost", 1, scale="imagenet", textures=[pane])
    assert (np.abs(corrupted - 0.4 * (0.299 * 200 + 0.587 * 100 + 0.114 * 50)) <= 1).all()


def test_what_is_no_picture(tmp_path):
    text = tmp_path / "notes.png"
    text.write_text("frost")
    for path in (text, tmp_path / "missing.png", tmp_path):
        with pytest.raises(InputError) as error:
            corrupt(np.zeros((1, 8, 8, 3), np.uint8), "frost", 1, textures=[path])
        assert str(error.value) == f"textures: got {str(path)!r}, expected a picture file"


@pytest.mark.slow
def test_the_panes_are_made_in_the_colours_and_contrasts_of_photographs():
    for pane, mean, deviation in zip(
        frosted_panes(),
        ([78, 149, 166], [201, 205, 214], [201, 205, 214], [138, 153, 165], [112, 123, 135]),
        (18, 22, 22, 29, 43),
        strict=True,
    ):
        assert_allclose(pane.mean((0, 1)), mean, atol=3)
        assert_allclose(pane.std((0, 1)), deviation, rtol=0.1)


@pytest.mark.slow
@pytest.mark.data
def test_frost_has_the_figures_of_the_photographs(small_photographs, real_data):
    pictures = sorted((real_data / "frost").glob("frost*"))[:5]
    images = np.repeat(small_photographs, 50, 0)
    for severity in (1, 5):
        ours, theirs = (
            corrupt(images, "frost", severity, scale="imagenet", textures=textures).astype(float)
            for textures in (None, pictures)
        )
        assert abs(ours.mean() - theirs.mean()) < 6
        assert abs(ours.std((1, 2)).mean() / theirs.std((1, 2)).mean() - 1) < 0.1
