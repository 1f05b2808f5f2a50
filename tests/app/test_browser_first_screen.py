"""What someone who must decide reads on the first screen; the report on one page."""

import re

import pytest

from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.outlets.columns import with_minus_signs
from tfaudit.outlets.html import write_report
from tfaudit.store.store import open_store

pytestmark = pytest.mark.slow
expect = pytest.importorskip("playwright.sync_api").expect

WIDTH, HEIGHT = 1400, 900


class Visitor:
    """Someone on the first page who neither clicks nor scrolls."""

    def __init__(self, page):
        self.page = page

    def reads(self, place, text):
        """Assert that a text stands in a place that is in sight."""
        expect(place).to_contain_text(text)
        self.sees(place)

    def sees(self, place):
        expect(place).to_be_visible()
        box = place.bounding_box()
        assert box["y"] >= 0
        assert box["y"] + box["height"] <= HEIGHT
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= WIDTH


@pytest.fixture(scope="module")
def verdict(digits):
    return StudyAudit.read(open_store(digits)).verdict()


@pytest.fixture
def visitor(viewer, visit):
    return Visitor(visit(viewer.url, width=WIDTH))


def said(text):
    """A text as it stands on a page: with minus signs and spaces that do not break."""
    spaces = re.escape(with_minus_signs(text)).replace(r"\ ", r"\s+")
    return re.compile(spaces.replace(r"top\-1", "top.1"))


def test_the_first_screen_says_what_to_ship_and_why_and_what_would_decide(visitor, verdict):
    first, *_ = verdict.headline.split(". ")
    visitor.reads(visitor.page.locator(".headline"), said(first))
    visitor.reads(visitor.page.locator(".advice p"), "Ship nothing yet: dynamic range int8 comes")
    undecided = 0
    for row in verdict.rows:
        place = visitor.page.locator(f"tr[data-variant='{row['variant']}']")
        visitor.reads(place.locator(".outcome"), row["outcome"].upper())
        visitor.reads(place.locator(".reason"), said(row["reason"]))
        share, again = (
            row[name] * row["examples"] for name in ("changed_share", "retrained_share")
        )
        changed = f"{share:,.0f}; retraining {again:,.0f}"
        visitor.reads(place.locator(".changed_share"), changed)
        if row["outcome"] == "cannot judge":
            undecided += 1
            needed = r"with [\d,]+ .* \(you have [\d,]+\) this could be decided"
            assert re.search(needed, row["reason"])
    assert undecided > 1


@pytest.mark.nightly
def test_the_report_begins_with_one_printed_page_and_is_short(browser, digits, tmp_path):
    path = write_report(StudyAudit.read(open_store(digits)), tmp_path / "report.html")
    page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
    page.goto(path.as_uri())
    assert page.evaluate("document.documentElement.scrollHeight") <= 12_000
    assert page.locator("nav a").count() == 5
    assert page.locator("h2").all_inner_texts()[-1] == "Methods"
    page.evaluate(
        "document.querySelectorAll('main > :not(#summary)').forEach(part => part.remove())"
    )
    printed = page.pdf(format="A4", print_background=True)
    assert len(re.findall(rb"/Type\s*/Page\b", printed)) == 1
    page.close()
