"""The report as PDF: printed by a browser if the machine has one, with everything that is folded."""

import re
import stat

import pytest

from tfaudit.errors import InputError
from tfaudit.outlets import pdf
from tfaudit.outlets.html import style_sheet
from tfaudit.outlets.pdf import find_browser, write_pdf


@pytest.mark.slow
def test_folds_are_open_in_print(tmp_path):
    """The page counts tell: a long text in a fold needs pages of its own."""
    pages = {}
    for name, text in (("short", "<p>a</p>"), ("folded", "<p>a</p>" * 400)):
        page = tmp_path / f"{name}.html"
        page.write_text(f"<style>{style_sheet('report.css')}</style><details>{text}</details>")
        content = write_pdf(page, find_browser()).read_bytes()
        assert content.startswith(b"%PDF-")
        pages[name] = len(re.findall(rb"/Type\s*/Page\b", content))
    assert pages["short"] == 1 < 3 < pages["folded"]


def test_a_machine_without_a_browser_is_told(monkeypatch):
    monkeypatch.setattr(pdf, "BROWSERS", ())
    with pytest.raises(InputError, match="--pdf: got no browser on this machine"):
        find_browser()


def test_a_browser_that_fails_leaves_no_file(tmp_path):
    broken = tmp_path / "browser"
    broken.write_text("#!/bin/sh\nexit 1\n")
    broken.chmod(broken.stat().st_mode | stat.S_IXUSR)
    page = tmp_path / "report.html"
    page.write_text("<p>a</p>")
    with pytest.raises(InputError, match="which printed nothing"):
        write_pdf(page, str(broken))
    assert not page.with_suffix(".pdf").exists()
