"""The views of a page in a narrow window of a real browser."""

import pytest

from tests.builders.pages import settled

pytestmark = pytest.mark.slow
expect = pytest.importorskip("playwright.sync_api").expect

VIEWS = ("Classes", "One image", "Corruptions")


@pytest.mark.nightly  # `test_browser.py` draws pages in a narrow window every day
def test_every_view_fits_a_narrow_window(viewer, visit):
    linked, *others = VIEWS
    opened = visit(f"{viewer.url}/corruptions?corruptions={linked}", width=400, scheme="dark")
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
