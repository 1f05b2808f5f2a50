"""A report as PDF, printed without a window by a Chromium or Chrome of this machine."""

import functools
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

from tfaudit.errors import InputError

BROWSERS = (
    "chromium-headless-shell",
    "chrome-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "msedge",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
)
"""Commands that print a page as PDF, in the order of trial."""

SECONDS = 300
"""Longest time that a browser may take."""


def find_browser() -> str:
    """Return the path of the first of `BROWSERS` on this machine.

    Raises:
        InputError: there is none.
    """
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        raise InputError("--pdf", "no browser on this machine", "Chromium or Chrome on the PATH")
    return browser


def printer() -> Callable[[Path], bytes]:
    """Return a function that takes the absolute path of a page and returns it as PDF.

    Raises:
        InputError: there is no browser here.
    """
    return functools.partial(pdf_of, browser=find_browser())


def pdf_of(page: Path, browser: str) -> bytes:
    """Return a page as PDF; the style sheet says what of it is printed.

    Args:
        page: absolute path of the HTML file.
        browser: path of the browser, from `find_browser`.

    Raises:
        InputError: the browser fails or prints nothing.
    """
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        printed = Path(profile, "printed.pdf")
        command = [
            browser,
            "--headless",
            "--disable-gpu",
            "--no-pdf-header-footer",
            "--disable-pdf-tagging",  # tags are two thirds of the file
            f"--user-data-dir={profile}",
            f"--print-to-pdf={printed}",
            *(["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []),
            page.as_uri(),
        ]
        try:
            subprocess.run(command, capture_output=True, timeout=SECONDS, check=True)
            return printed.read_bytes()
        except (OSError, subprocess.SubprocessError) as problem:
            got = f"{browser}, which printed nothing ({type(problem).__name__})"
            raise InputError("--pdf", got, "a browser that can print a page") from None
