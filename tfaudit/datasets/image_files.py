"""Untrusted image files: only regular files are read, and only by decoders that are safe to run on them."""

import contextlib
import warnings
from collections.abc import Iterator
from pathlib import Path

from PIL import Image

from tfaudit.errors import InputError, one_line

SUFFIXES = (".jpg", ".jpeg", ".png", ".webp", ".bmp", ".gif", ".tif", ".tiff")
"""Endings of the names of image files, in small letters."""

OTHER_SUFFIXES = (".svg", ".heic", ".heif", ".avif", ".tga", ".jp2", ".psd", ".ico", ".dng")
"""Endings of the names of images in formats that are not decoded."""

FORMATS = ("JPEG", "PNG", "WEBP", "BMP", "GIF", "TIFF")
"""Formats that are decoded, whatever the name says: Pillow has others, one of which starts Ghostscript."""


@contextlib.contextmanager
def open_image(path: Path) -> Iterator[Image.Image]:
    """Open an image, or the first frame of an animation; any failure within the context is an `InputError`.

    Args:
        path: path of the file.

    Raises:
        InputError: no regular file, another format, a damaged image, 16 bits per channel, or more pixels than Pillow
            considers harmless.
    """
    try:
        if not path.is_file():  # reading a pipe could block for ever
            raise ValueError("no regular file")
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore", UserWarning
            )  # Pillow warns of palettes with transparency
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
