"""Classes and exemplars as a person sees them: clicks, brushes, filters, and links that show the same again."""

import re
import shutil
from urllib.parse import urlencode

import pytest

from tests.builders.many_classes import MANY
from tests.builders.pages import choose, settled
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


def test_a_click_on_a_class_shows_its_exemplars(viewer, visit, study_audit):
    page = visit(f"{viewer.url}/classes?{HARMED}")
    found = study_audit.exemplars("magnitude-0.9")
    order = (
        study_audit.class_impact("magnitude-0.9")
        .frame()
        .sort_values("change_pp", kind="stable")
        .index
    )
    line = next(i for i, c in enumerate(order) if (found.labels[found.index] == c).any())
    lines = page.locator("[class*='st-key-chart-classes'] path[aria-roledescription=bar]")
    chart(page, "chart-classes")
    lines.nth(line).click(force=True)
    page.wait_for_url(f"**class={order[line]}*")
    page.get_by_text("Recall of every member").wait_for()
    settled(page)
    expected = (found.labels[found.index] == order[line]).sum()
    kinds = (
        found.labels[found.index] == order[line],
        found.baseline_mode.among_best(found.labels)[found.index] > 0,
    )
    wrong = (kinds[0] & kinds[1]).sum()
    expect(page.get_by_text(f"{wrong} of its")).to_have_count(1)
    cards = page.locator(".tfa-card")
    expect(cards).to_have_count(min(expected, 6))
    assert all(text.startswith("true") for text in cards.all_inner_texts())
    became = page.locator(".st-key-became a").first
    name, count = re.fullmatch(r"(.+) \((\d+)\)", became.inner_text()).groups()
    became.click()
    page.wait_for_url("**/exemplars?*")
    settled(page)
    expect(page.get_by_text(f"{count} of {len(found.labels)} images match")).to_have_count(1)
    expect(page.get_by_role("combobox", name="Prediction after")).to_have_value(name)
    page.go_back()
    page.wait_for_url("**/classes?*")
    settled(page)
    page.get_by_role("link", name=re.compile("that change")).click()
    page.wait_for_url("**/exemplars?*")
    settled(page)
    expect(page.get_by_text(f"{expected} of {len(found.labels)} images match")).to_have_count(1)


def test_brushing_narrows_the_classes_and_the_link_shows_the_same(two, visit):
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
    told = page.get_by_text(f"Classes {low} to {high} by change")
    expect(told).to_have_count(1)
    shared = visit(page.url)
    expect(shared.get_by_text(f"Classes {low} to {high} by change")).to_have_count(1)
    box = chart(page, "chart-all-classes")
    page.mouse.dblclick(box["x"] + 0.9 * box["width"], box["y"] + 0.5 * box["height"])
    page.get_by_text("Drag over the chart").wait_for()
    expect(page).not_to_have_url(re.compile("range="))


def test_a_study_that_loses_its_images_stays_usable(two, visit, viewer):
    directory = two.directory / "losing"
    shutil.copytree(viewer.directory, directory)
    content = (directory / "examples/test.parquet").read_bytes()
    page = visit(f"{two.url}/exemplars?{HARMED}&study=losing")
    (directory / "examples/test.parquet").write_bytes(content[:200])
    choose(page, page.get_by_role("combobox", name="Images", exact=True), "newly wrong")
    settled(page)
    expect(page.get_by_text("got a damaged file")).to_have_count(1)
    assert page.get_by_test_id("stException").count() == 0
    shutil.rmtree(directory)
