"""Image files of anybody: which decoders open them, and what is refused."""

import io
import os

import numpy as np
import pytest
from PIL import Image

from tests.builders.refusals import assert_refused
from tfaudit.datasets.image_files import SUFFIXES, open_image
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


def encoded(image, kind="PNG"):
    buffer = io.BytesIO()
    image.save(buffer, kind)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (encoded(Image.new("RGB", (8, 8)), "EPS"), "cannot identify"),
        (b"", "cannot identify"),
        (b"%PDF-1.4 x", "cannot identify"),
        (encoded(Image.new("1", (200, 200))), "decompression bomb"),
        (encoded(Image.fromarray(np.zeros((8, 8), np.uint16))), "its mode is I;16"),
    ],
)
def test_what_is_refused_whatever_the_name_says(tmp_path, monkeypatch, content, words):
    """Pillow would start Ghostscript on an EPS file."""
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 1000)
    path = tmp_path / "x.png"
    path.write_bytes(content)
    with pytest.raises(InputError, match=words), open_image(path) as image:
        image.load()


def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "x.png")
    assert_refused(
        r"x.png: got an undecodable image \(no regular file\), expected",
        open_image(tmp_path / "x.png").__enter__,
    )
