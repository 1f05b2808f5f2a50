"""Untrusted image files: only regular files are read, and only by decoders that are safe to run on them."""

import contextlib
import warnings
from collections.abc import Iterator
from pathlib import Path

from PIL import Image

from tfaudit.errors import InputError, one_line

SUFFIXES = (
    *(".jpg", ".jpeg", ".jpe", ".jfif", ".png", ".apng", ".webp", ".bmp", ".dib", ".gif"),
    *(".tif", ".tiff", ".ppm", ".pgm", ".pbm", ".pnm"),
)
"""Endings of the names of image files, in small letters."""

FORMATS = ("JPEG", "PNG", "WEBP", "BMP", "DIB", "GIF", "TIFF", "PPM")
"""Formats that are decoded, whatever the name says: Pillow has others, one of which starts Ghostscript."""

EXPECTED = "images of 8 bits per channel in JPEG, PNG, WebP, BMP, GIF, TIFF or PPM"
"""What errors ask for."""


def is_image(path: Path) -> bool:
    """Return whether a file has the name of an image, or its content if the name tells nothing."""
    if path.suffix.lower() in SUFFIXES:
        return not path.is_dir()
    try:
        with open_image(path):
            return True
    except InputError:
        return False


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
        raise InputError(str(path), f"an undecodable image ({one_line(error)})", EXPECTED) from None
