"""Every page of the viewer in a real browser: wide and narrow, light and dark, with a picture of each to look at."""

import io
import os
import re
from pathlib import Path
from urllib.parse import urlencode

import pandas as pd
import pytest

from tests.builders.accessibility import violations
from tests.builders.many_classes import HOSTILE, MANY
from tests.builders.nightly import first_and_nightly
from tests.builders.pages import choose, settled
from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.app.markdown import unique_labels
from tfaudit.app.menu import PAGES
from tfaudit.store.store import open_store

PICTURES = Path(os.environ.get("TFAUDIT_PICTURES", Path(__file__).parents[2] / ".pictures"))
"""Where the pictures of the pages go."""

pytestmark = pytest.mark.slow
sync_api = pytest.importorskip("playwright.sync_api")
expect = sync_api.expect


@pytest.mark.parametrize("name", first_and_nightly(PAGES, 3))
def test_every_page(viewer, visit, name):
    page = visit(f"{viewer.url}/{name.replace('overview', '')}")
    main = page.get_by_test_id("stMain")
    PICTURES.mkdir(exist_ok=True)
    for width, scheme in (
        (1280, "light"),
        (400, "dark"),
    ):  # a visit costs three seconds, another width none
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size({"width": width, "height": 900})
        settled(page)
        assert main.get_by_role("heading").count()
        assert page.get_by_test_id("stException").count() == 0
        assert page.get_by_test_id("stAlertContentError").count() == 0
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        for chart in main.get_by_test_id("stVegaLiteChart").all():
            box = chart.bounding_box()
            assert box is None or box["x"] + box["width"] <= width
        height = page.evaluate("document.querySelector('[data-testid=stMain]').scrollHeight")
        page.set_viewport_size({"width": width, "height": min(height + 80, 6000)})
        settled(page)
        page.screenshot(path=PICTURES / f"{name}-{width}-{scheme}.png")
        assert not violations(page)


@pytest.mark.nightly
def test_names_in_charts_follow_a_change_of_theme(viewer, visit):
    page = visit(viewer.url)
    name = page.locator("[data-testid=stVegaLiteChart] svg text", has_text="float16").last
    ink = "text => [getComputedStyle(text).fill, getComputedStyle(document.querySelector('h1')).color]"
    light = name.evaluate(ink)
    page.emulate_media(color_scheme="dark")
    settled(page)
    dark = name.evaluate(ink)
    assert light[0] == light[1] != dark[0] == dark[1]


def menu(page, title):
    page.locator(".st-key-menu").get_by_role("link", name=title, exact=True).click()
    heading = re.compile(
        "^What compression forgets: [^{]+$" if title == "Verdict" else f"^{title}$"
    )
    expect(page.get_by_test_id("stMain").get_by_role("heading", level=1)).to_have_text(heading)
    settled(page)


def test_hostile_names_and_missing_images(two, visit):
    page = visit(f"{two.url}/?{urlencode({'study': MANY})}")
    for title in page.locator(".st-key-menu a").all_inner_texts():
        menu(page, title)
        assert page.get_by_test_id("stAlertContentError").count() == 0
        assert page.get_by_test_id("stMain").locator("script, a[href=u]").count() == 0
        assert page.evaluate("document.documentElement.scrollWidth") <= 1280
    for name in HOSTILE[:2]:
        (label,) = unique_labels([name])
        page = visit(f"{two.url}/classes?{urlencode({'study': MANY, 'class': label})}")
        heading = page.get_by_test_id("stMain").get_by_role("heading", level=2)
        expect(heading).to_have_count(1)
        assert heading.inner_text().replace("\N{WORD JOINER}", "") == label


def switch(page, study):
    choose(page, page.get_by_test_id("stSidebar").get_by_role("combobox", name="Study"), study)
    expect(page).to_have_url(re.compile(f"{urlencode({'study': study})}|^[^?]*$"))
    settled(page)


def test_a_choice_in_one_study_is_none_in_another(two, visit):
    page = visit(f"{two.url}/exemplars?study=digits&class=3&variant=int8")
    switch(page, MANY)
    expect(page.get_by_role("combobox", name="Class")).to_have_value("")
    expect(page).not_to_have_url(re.compile("class="))
    page = visit(f"{two.url}/operating_points?study=digits&floor=98")
    switch(page, MANY)
    assert page.get_by_test_id("stAlertContentError").count() == 0


def saved(page, button):
    with page.expect_download(timeout=180_000) as download:  # a report takes a while to print
        button.click()
    return download.value.suggested_filename, Path(download.value.path()).read_bytes()


def test_downloads_hold_what_is_shown(viewer, visit):
    page = visit(viewer.url)
    audit = StudyAudit.read(open_store(viewer.directory)).summary
    main = page.get_by_test_id("stMain")
    name, content = saved(page, main.get_by_role("button", name="CSV", exact=True).first)
    table = pd.read_csv(io.BytesIO(content))
    assert name == "digits-variants.csv"
    assert list(table["title"]) == list(audit.table["title"])
    assert list(table["top1"]) == pytest.approx(list(audit.table["top1"]))
    name, content = saved(page, main.get_by_role("button", name="PNG", exact=True).first)
    assert (name, content[:8]) == ("accuracy.png", b"\x89PNG\r\n\x1a\n")
    name, content = saved(page, main.get_by_role("button", name="SVG", exact=True).first)
    assert name == "accuracy.svg"
    assert content.startswith(b"<svg")
    assert b"magnitude 90 %" in content


def test_limits_change_the_verdict_and_a_link_shows_the_same(viewer, visit):
    page = visit(viewer.url)
    outcome = page.locator("tr[data-variant='magnitude-0.9'] .outcome")
    expect(outcome).to_have_text(re.compile("FAIL|CANNOT JUDGE"))
    page.get_by_role("button", name="Limits").click()
    for label in ("Overall drop", "Drop of worst class"):
        field = page.get_by_role("spinbutton", name=label)
        field.fill("100")
        field.press("Enter")
        settled(page)
    expect(outcome).to_have_text(re.compile("^✓.*PASS"))
    for limit in ("max_overall_drop=100", "max_worst_class_drop=100"):
        expect(page).to_have_url(re.compile(limit))
    shared = visit(page.url)
    expect(shared.locator("tr[data-variant='magnitude-0.9'] .outcome")).to_have_text(
        re.compile("^✓.*PASS")
    )
    shared.locator(".st-key-menu").get_by_role("link", name="Classes", exact=True).click()
    shared.wait_for_url("**/classes*")
    settled(shared)
    shared.locator(".st-key-menu").get_by_role("link", name="Verdict").click()
    expect(shared.locator("tr[data-variant='magnitude-0.9'] .outcome")).to_have_text(
        re.compile("^✓.*PASS")
    )


def test_nothing_else_is_served(viewer, visit):
    page = visit(viewer.url)
    for path in (
        "../study.json",
        "%2e%2e/study.json",
        "study.json",
        "app/static/../../study.json",
        "media/../study.json",
    ):
        answer = page.request.get(f"{viewer.url}/{path}")
        assert b'"format"' not in answer.body()
    asked = page.evaluate(
        "performance.getEntriesByType('resource').map(entry => new URL(entry.name).host)"
    )
    assert set(asked) == {f"localhost:{viewer.port}"}


def test_a_row_of_the_verdict_leads_to_its_classes_by_a_key(viewer, visit):
    page = visit(viewer.url)
    page.locator("tr[data-variant='magnitude-0.9']").get_by_role("link").press("Enter")
    page.wait_for_url("**/classes?*")
    settled(page)
    expect(page).to_have_url(re.compile(re.escape("variant=magnitude+90+%25")))
    page.get_by_test_id("stMain").get_by_role(
        "radio", name="magnitude 90 %", checked=True
    ).wait_for()
