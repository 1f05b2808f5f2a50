"""Image files of anybody: which decoders open them, and what is refused."""

import io
import os

import numpy as np
import pytest
from PIL import Image

from tfaudit.datasets.image_files import SUFFIXES, open_image
from tfaudit.datasets.image_folder import image_folder_files
from tfaudit.datasets.labelled_images import labelled_images
from tfaudit.errors import InputError


def test_every_named_format_is_read(tmp_path):
    pixels = np.zeros((8, 8, 3), np.uint8)
    pixels[2:6] = 255
    for i, suffix in enumerate(SUFFIXES):
        folder = tmp_path / ("a", "b")[i % 2]
        folder.mkdir(exist_ok=True)
        Image.fromarray(pixels).save(folder / f"{i}{suffix}")
    images = next(labelled_images(str(tmp_path)).batches(20))
    assert images.shape == (len(SUFFIXES), 8, 8, 3)
    assert (np.abs(images.astype(int) - pixels) < 60).all()  # JPEG and WebP lose a little


def test_a_folder_of_webp_is_prepared(tmp_path):
    for split in ("train", "test"):
        for name in ("cat", "dog"):
            (tmp_path / split / name).mkdir(parents=True)
            Image.new("RGB", (8, 8), "red").save(tmp_path / split / name / "x.webp")
            (tmp_path / split / "__MACOSX").mkdir(exist_ok=True)
    local = image_folder_files(tmp_path)
    (_, example), *_ = local.splits["test"]
    assert example["image"].shape == (8, 8, 3)


def encapsulated_postscript():
    buffer = io.BytesIO()
    Image.new("RGB", (8, 8)).save(buffer, "EPS")
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (encapsulated_postscript(), "cannot identify"),
        (b"", "cannot identify"),
        (b"%PDF-1.4 x", "cannot identify"),
    ],
)
def test_other_formats_are_refused_whatever_the_name_says(tmp_path, content, words):
    """Pillow would start Ghostscript on an EPS file."""
    path = tmp_path / "x.png"
    path.write_bytes(content)
    with pytest.raises(InputError, match=words), open_image(path) as image:
        image.load()


def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "x.png")
    with pytest.raises(
        InputError, match=r"x.png: got an undecodable image \(no regular file\), expected"
    ):
        open_image(tmp_path / "x.png").__enter__()


def test_a_decompression_bomb_is_one_line(tmp_path, monkeypatch):
    Image.new("1", (200, 200)).save(tmp_path / "x.png")
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 1000)
    with pytest.raises(InputError, match="decompression bomb"), open_image(tmp_path / "x.png"):
        pass


def test_sixteen_bits_are_refused(tmp_path):
    Image.fromarray(np.zeros((8, 8), np.uint16)).save(tmp_path / "x.png")
    with pytest.raises(InputError, match="its mode is I;16"), open_image(tmp_path / "x.png"):
        pass
