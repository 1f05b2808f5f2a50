"""Classes as a person sees them: a brush narrows them."""

import re
from urllib.parse import urlencode

import pytest

from tests.builders.many_classes import MANY
from tests.builders.pages import settled
from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.store.store import open_store

pytestmark = pytest.mark.slow
expect = pytest.importorskip("playwright.sync_api").expect

HARMED = "variant=magnitude+90+%25"


@pytest.fixture(scope="module")
def study_audit(viewer):
    return StudyAudit.read(open_store(viewer.directory))


def chart(page, key):
    drawn = page.locator(f"[class*='st-key-{key}']").get_by_test_id("stVegaLiteChart")
    drawn.locator("canvas, svg").first.wait_for()
    drawn.scroll_into_view_if_needed()
    settled(page)  # what is scrolled to may be drawn then
    return drawn.bounding_box()


def test_brushing_narrows_the_classes(two, visit):
    page = visit(f"{two.url}/classes?{HARMED}&{urlencode({'study': MANY})}")
    box = chart(page, "chart-all-classes")
    page.mouse.move(box["x"] + 0.4 * box["width"], box["y"] + 0.4 * box["height"])
    page.mouse.down()
    for share in (0.45, 0.5, 0.55):
        page.mouse.move(box["x"] + share * box["width"], box["y"] + 0.5 * box["height"])
    page.mouse.up()
    page.get_by_role("button", name="Show all").wait_for()
    expect(page).to_have_url(re.compile(r"range=\d+-\d+"))
    settled(page)
    low, high = map(int, re.search(r"range=(\d+)-(\d+)", page.url).groups())
    assert 10 < low < high < 35
    expect(page.get_by_text(f"Classes {low} to {high} by change")).to_have_count(1)
    box = chart(page, "chart-all-classes")
    page.mouse.dblclick(box["x"] + 0.9 * box["width"], box["y"] + 0.5 * box["height"])
    page.get_by_text("Drag over the chart").wait_for()
    expect(page).not_to_have_url(re.compile("range="))
