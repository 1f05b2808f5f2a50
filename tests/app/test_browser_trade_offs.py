"""The trade-off pages in a real browser: sliders move the choice, the URL holds it, downloads and narrow windows."""

import re

import pytest

from tests.builders.nightly import first_and_nightly
from tests.builders.pages import settled
from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.audits.gate.limits import Limits
from tfaudit.store.store import open_store

pytestmark = pytest.mark.slow
expect = pytest.importorskip("playwright.sync_api").expect

FLOOR = "Accuracy floor, %"
PASSABLE = "max_overall_drop=60&max_worst_class_drop="
"""Limits under which all variants pass but the smallest, which passes alone."""
VIEWS = {
    "corruptions": ("Corruptions", "Severities", "Classes", "One image", "Exemplars"),
    "distortion": ("Slopes", "Classes", "Questions"),
}


@pytest.fixture(scope="module")
def table(viewer):
    return StudyAudit.read(open_store(viewer.directory)).trade_offs()


@pytest.fixture(scope="module")
def passing(viewer, table):
    """The trade-offs of what passes the gate."""
    outcomes = (
        StudyAudit.read(open_store(viewer.directory)).verdict(Limits(overall_drop_pp=60)).outcomes
    )
    return table[table["variant"].map(outcomes) == "pass"]


def chosen(page):
    said = page.get_by_test_id("stMain").get_by_text("Chosen:")
    expect(said).to_have_count(1)  # while the page redraws, the previous sentence is still below
    return said.inner_text().replace("\xa0", " ")


def slide(page, label, value):
    """Move a slider just below a value, which no server hears of, and by a key to it."""
    slider = page.get_by_role("slider", name=label)
    slider.fill(f"{value - 0.1:.1f}")
    slider.press("ArrowRight")
    page.wait_for_timeout(300)  # a slider waits for a pause before it tells the server
    settled(page)


def test_the_floor_moves_the_choice_and_a_link_brings_both_back(viewer, visit, table, passing):
    page = visit(f"{viewer.url}/operating_points?{PASSABLE}")
    points = passing.groupby("title", sort=False)[["size", "accuracy"]].mean()
    smallest = points["size"].idxmin()
    assert smallest in chosen(page)
    low = float(page.get_by_role("slider", name=FLOOR).get_attribute("min"))
    steps = int(1000 * points["accuracy"][smallest] - 10 * low) + 1
    floor = round(low + steps / 10, 1)  # just above what the smallest reaches
    slide(page, FLOOR, floor)
    expect(page).to_have_url(re.compile(re.escape(f"floor={floor:g}") + "(&|$)"))
    settled(page)
    said = chosen(page)
    assert points["size"][points["accuracy"] >= floor / 100].idxmin() in said
    again = visit(page.url)
    assert chosen(again) == said
    assert float(again.get_by_role("slider", name=FLOOR).input_value()) == floor


@pytest.mark.parametrize("page", first_and_nightly(VIEWS))
def test_every_view_fits_a_narrow_window(viewer, visit, page):
    linked, *others = reversed(VIEWS[page])
    opened = visit(
        f"{viewer.url}/{page}?{page}={linked.replace(' ', '+')}", width=400, scheme="dark"
    )
    main = opened.get_by_test_id("stMain")
    for view in (linked, *others):
        if view != linked:
            main.get_by_role("tab", name=view, exact=True).click()
            settled(opened)
        last = (
            main.locator(".strip")
            if view == "One image"
            else main.get_by_role("button", name="CSV", exact=True)
        )
        last.locator("visible=true").first.wait_for()
        expect(main.get_by_role("tab", selected=True)).to_have_text(view)
        assert opened.get_by_test_id("stAlertContentError").count() == 0
        assert main.evaluate("main => main.scrollWidth") <= 400


def test_a_tab_is_part_of_the_link(viewer, visit):
    page = visit(f"{viewer.url}/corruptions")
    page.get_by_role("tab", name="One image").click()
    settled(page)
    expect(page).to_have_url(re.compile(re.escape("corruptions=One+image")))
    pictures = page.get_by_test_id("stMain").locator(".strip img")
    pictures.nth(2).wait_for()  # Streamlit may still be corrupting
    assert all(
        pictures.nth(i).evaluate("image => image.naturalWidth") == 8
        for i in range(pictures.count())
    )
    assert set(page.get_by_test_id("stMain").locator(".strip td.right").all_inner_texts())
