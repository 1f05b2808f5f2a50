"""Image files of anybody: only regular files, only decoders that are safe to run on them."""

import contextlib
import warnings
from collections.abc import Iterator
from pathlib import Path

from PIL import Image

from tfaudit.errors import InputError, one_line

SUFFIXES = (".jpg", ".jpeg", ".png", ".webp", ".bmp", ".gif", ".tif", ".tiff")
"""Endings of the names of image files, in small letters."""

FORMATS = ("JPEG", "PNG", "WEBP", "BMP", "GIF", "TIFF")
"""Formats that are decoded, whatever the name says: Pillow has others, one of which starts Ghostscript."""


@contextlib.contextmanager
def open_image(path: Path) -> Iterator[Image.Image]:
    """Open an image; whatever goes wrong until the context is left is one line. Of animations it is the first frame.

    Args:
        path: of the file.

    Raises:
        InputError: no regular file, another format, a damaged image, 16 bits a channel, or more pixels than Pillow
            takes for harmless.
    """
    try:
        if not path.is_file():  # a pipe would wait for ever
            raise ValueError("no regular file")
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore", UserWarning
            )  # Pillow's advice on palettes with transparency
            warnings.simplefilter("error", Image.DecompressionBombWarning)  # 90 million pixels
            with Image.open(path, formats=FORMATS) as image:
                if image.mode.startswith(("I", "F")):
                    raise ValueError(f"its mode is {image.mode}")
                yield image
    except (
        OSError,
        ValueError,
        SyntaxError,
        Image.DecompressionBombError,
        Image.DecompressionBombWarning,
    ) as error:
        if isinstance(error, InputError):
            raise
        expected = "an image of 8 bits per channel: JPEG, PNG, WebP, BMP, GIF or TIFF"
        raise InputError(str(path), f"an undecodable image ({one_line(error)})", expected) from None
