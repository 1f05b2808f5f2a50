"""Every page of the viewer in a real browser: wide and narrow, light and dark, with a picture of each to look at."""

import io
import os
from pathlib import Path
from urllib.parse import urlencode

import pandas as pd
import pytest

from tests.app.conftest import settled
from tests.app.many_classes import HOSTILE, make_study_of_many_classes
from tfaudit.app.text import labels
from tfaudit.app.viewer import PAGES
from tfaudit.report.material import Material
from tfaudit.store import open_store

PICTURES = Path(os.environ.get("TFAUDIT_PICTURES", Path(__file__).parents[2] / ".pictures"))
"""Where the pictures of the pages go."""

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (1280, "dark"), (400, "light"), (400, "dark")])
@pytest.mark.parametrize("name", list(PAGES))
def test_every_page(viewer, visit, name, width, scheme):
    page = visit(f"{viewer.url}/{name.replace('overview', '')}", width=width, scheme=scheme)
    main = page.get_by_test_id("stMain")
    assert main.get_by_role("heading").count()
    assert page.get_by_test_id("stException").count() == 0
    assert page.get_by_test_id("stAlertContentError").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    for chart in main.get_by_test_id("stVegaLiteChart").all():
        box = chart.bounding_box()
        assert box is None or box["x"] + box["width"] <= width
    PICTURES.mkdir(exist_ok=True)
    height = page.evaluate("document.querySelector('[data-testid=stMain]').scrollHeight")
    page.set_viewport_size({"width": width, "height": min(height + 80, 6000)})
    settled(page)
    page.screenshot(path=PICTURES / f"{name}-{width}-{scheme}.png")


def test_hostile_names_and_missing_images(serve, visit, tmp_path):
    server = serve(make_study_of_many_classes(tmp_path / "<b>study").directory)
    for place in PAGES:
        page = visit(f"{server.url}/{place.replace('overview', '')}")
        assert page.get_by_test_id("stAlertContentError").count() == 0
        assert page.get_by_test_id("stMain").locator("script, a[href=u]").count() == 0
        assert page.evaluate("document.documentElement.scrollWidth") <= 1280
    for name in HOSTILE[:4]:
        (label,) = labels([name])
        page = visit(f"{server.url}/classes?{urlencode({'class': label})}")
        heading = page.get_by_test_id("stMain").get_by_role("heading", level=4)
        assert heading.inner_text().replace("\N{WORD JOINER}", "") == label


def saved(page, button):
    with page.expect_download() as download:
        button.click()
    return download.value.suggested_filename, Path(download.value.path()).read_bytes()


def test_downloads_hold_what_is_shown(viewer, visit):
    page = visit(viewer.url)
    audit = Material.read(open_store(viewer.directory)).audit
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


def test_a_row_leads_to_its_details(viewer, visit):
    page = visit(viewer.url)
    page.get_by_test_id("stMain").get_by_text("magnitude 90 %", exact=True).first.click()
    settled(page)
    assert "variant=magnitude+90+%25" in page.url
    page.get_by_role("link", name="Its classes").click()
    page.wait_for_url("**/classes?*")
    settled(page)
    assert "variant=magnitude+90+%25" in page.url
    chosen = page.get_by_test_id("stMain").get_by_role("radio", checked=True)
    assert "magnitude 90 %" in chosen.all_inner_texts()


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
    asked = page.evaluate("performance.getEntriesByType('resource').map(entry => new URL(entry.name).host)")
    assert set(asked) == {f"localhost:{viewer.port}"}
