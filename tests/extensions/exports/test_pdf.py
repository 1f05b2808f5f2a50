"""The report as PDF, printed by a browser if the machine has one: the decision as a whole, answers of the audits."""

import re
import stat

import pytest

from tests.builders.refusals import assert_refused
from tfaudit.extensions.exports import pdf
from tfaudit.extensions.exports.pdf import find_browser, pdf_of, printer
from tfaudit.outlets.html import style_sheet


@pytest.mark.slow
def test_the_decision_is_printed_as_a_whole_and_folds_of_the_audits_stay_closed(tmp_path):
    """The page counts tell: a long text in a fold needs pages of its own."""
    pages = {}
    long = "<p>a</p>" * 400
    audit = "<div class=part><section><p class=findings>a</p>{}</section></div>"
    for name, text in (
        ("short", "<details><p>a</p></details>"),
        ("decision", f"<section id=variants><details>{long}</details></section>"),
        ("fold", audit.format(f"<details open>{long}</details>")),
        ("charts", audit.format(f"<article><figure>{long}</figure></article>")),
    ):
        page = tmp_path / f"{name}.html"
        page.write_text(f"<style>{style_sheet('report.css')}</style>{text}")
        content = printer()(page)
        assert content.startswith(b"%PDF-")
        pages[name] = len(re.findall(rb"/Type\s*/Page\b", content))
    assert pages["short"] == pages["fold"] == pages["charts"] == 1 < 3 < pages["decision"]


def test_a_machine_without_a_browser_is_told(monkeypatch):
    monkeypatch.setattr(pdf, "BROWSERS", ())
    assert_refused("--pdf: got no browser on this machine", find_browser)


def test_a_browser_that_fails_leaves_no_file(tmp_path):
    broken = tmp_path / "browser"
    broken.write_text("#!/bin/sh\nexit 1\n")
    broken.chmod(broken.stat().st_mode | stat.S_IXUSR)
    page = tmp_path / "report.html"
    page.write_text("<p>a</p>")
    assert_refused("which printed nothing", pdf_of, page, str(broken))
    assert not page.with_suffix(".pdf").exists()
