"""The report opens in a real browser without a network: Debian's Chromium, driven by Playwright."""

import pytest

from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.report.html import write_report
from tfaudit.report.sections.order import study_sections


@pytest.mark.slow
@pytest.mark.parametrize(("width", "scheme"), [(1200, "light"), (420, "dark")])
def test_report(browser, store, width, scheme):
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, offline=True)
    asked, said = [], []
    context.route("http*://**/*", lambda route: (asked.append(route.request.url), route.abort()))
    page = context.new_page()
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(write_report(StudyAudit.read(store)).as_uri())

    audit = StudyAudit.read(store).summary
    rows = page.locator("#figures tbody tr")
    assert [row.split("\t")[0] for row in rows.all_inner_texts()] == list(audit.frame()["title"])
    verdicts = page.locator(".verdicts tbody tr")
    assert [row.get_attribute("data-variant") for row in verdicts.all()] == list(audit.exemplars)
    verdicts.first.click(position={"x": 5, "y": 5})
    assert page.url.endswith("#classes-magnitude-0.9")
    charts = page.locator("svg.chart")
    drawn = [figure for section in study_sections(StudyAudit.read(store)) for figure in section.figures]
    assert charts.count() == 2 + len(audit.impacts) + len(drawn)
    for chart in charts.all():
        box = chart.bounding_box()
        assert min(box["width"], box["height"]) > 60
        assert box["x"] + box["width"] <= width
        assert chart.locator("path").count() > 5
        assert chart.locator("text").first.evaluate("text => text.getComputedTextLength()") > 0
    natural = page.locator(".gallery img").evaluate_all("images => images.map(image => image.naturalWidth)")
    assert len(natural) == sum(min(24, len(found.index)) for found in audit.exemplars.values())
    assert set(natural) == {8}
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert not asked
    assert not said
    context.close()
