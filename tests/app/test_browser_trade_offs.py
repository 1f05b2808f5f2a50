"""The trade-off pages in a real browser: sliders move the choice, the URL holds it, downloads and narrow windows."""

import re

import pytest

from tests.builders.nightly import first_and_nightly
from tests.builders.pages import settled

pytestmark = pytest.mark.slow
expect = pytest.importorskip("playwright.sync_api").expect

"""Limits under which all variants pass but the smallest, which passes alone."""
VIEWS = {
    "corruptions": ("Corruptions", "Severities", "Classes", "One image", "Exemplars"),
}


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
