"""The report opens in a real browser without a network: Debian's Chromium, driven by Playwright."""

import pytest

from tests.builders.accessibility import violations
from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.outlets.html import write_report


@pytest.fixture(scope="module")
def long_names(tmp_path_factory):
    """The report of a study whose variants have long names and whose table has all columns."""
    from tests.builders.populations import population
    from tfaudit.store.external import import_predictions

    names = {f"a_compressed_model_of_a_long_name_{i}": population(i, hurt=[3] * i) for i in (1, 2)}
    store = import_predictions(
        tmp_path_factory.mktemp("long"), population(0), names, name="long names"
    )
    return write_report(StudyAudit.read(store))


@pytest.fixture
def page(browser):
    opened = browser.new_page(viewport={"width": 1200, "height": 800})
    yield opened
    opened.close()


def unfold(page):
    page.evaluate("for (const fold of document.querySelectorAll('details')) fold.open = true")


@pytest.mark.slow
def test_tables_sort(page, long_names):
    page.goto(long_names.as_uri())
    unfold(page)
    table = page.locator("#figures table")
    heading = table.get_by_role("columnheader", name="top-1, %")
    column = heading.evaluate("cell => cell.cellIndex")
    cells = table.locator(f"tbody tr > :nth-child({column + 1})")
    first = cells.all_inner_texts()
    for order in ("ascending", "descending", None):
        heading.get_by_role("button").press("Enter")
        assert heading.get_attribute("aria-sort") == order
        values = list(map(float, cells.all_inner_texts()))
        expected = (
            first if order is None else sorted(map(float, first), reverse=order == "descending")
        )
        assert values == list(map(float, expected))
    change = table.get_by_role("columnheader", name="relative change, %")
    change.get_by_role("button").click()
    column = change.evaluate("cell => cell.cellIndex")
    values = table.locator(f"tbody tr > :nth-child({column + 1})").all_inner_texts()
    assert values[-1] == "–"  # what is unknown comes last
    numbers = [float(value.replace("−", "-")) for value in values[:-1]]
    assert numbers == sorted(numbers)


@pytest.mark.slow
@pytest.mark.parametrize(("width", "scheme"), [(1200, "light"), (420, "dark")])
def test_report(browser, store, written, width, scheme):
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme, offline=True
    )
    asked, said = [], []
    context.route("http*://**/*", lambda route: (asked.append(route.request.url), route.abort()))
    page = context.new_page()
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(written.as_uri())

    audit = StudyAudit.read(store).summary
    titles = page.locator("#figures tbody th").all_text_contents()
    assert [title.replace("\u00a0", " ") for title in titles] == list(audit.frame()["title"])
    verdicts = page.locator(".verdicts tbody tr")
    listed = [row["variant"] for row in StudyAudit.read(store).verdict().rows]
    assert [row.get_attribute("data-variant") for row in verdicts.all()] == listed
    page.locator(".verdicts tr[data-variant=int8]").click(position={"x": 5, "y": 5})
    assert page.url.endswith("#classes-int8")
    page.locator("#classes-int8 svg").wait_for()
    unfold(page)
    for chart in page.locator("svg.chart").all():
        box = chart.bounding_box()
        assert min(box["width"], box["height"]) > 50
        # On a telephone wide charts scroll within their figure.
        assert width < 640 or box["x"] + box["width"] <= width
        assert chart.locator("path").count() > 5
        assert chart.locator("text").first.evaluate("text => text.getComputedTextLength()") > 0
    # The exemplars, and unchanged images beside them, which `test_html` counts.
    widths = "images => images.map(image => image.naturalWidth)"
    assert set(page.locator(".gallery img").evaluate_all(widths)) == {8}
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert not violations(page)
    assert not asked
    assert not said
    context.close()
