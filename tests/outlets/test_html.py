"""report.html is whole, self-contained and takes no name for markup."""

import base64
import hashlib
import html.parser
import re

import pytest

from tests.builders.studies import NAMES, make_study
from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.outlets.html import write_report
from tfaudit.outlets.sections.order import study_sections


class Page(html.parser.HTMLParser):
    """Collects tags, attributes and text; refuses tags that do not close."""

    VOID = frozenset({"meta", "link", "img", "br"})

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.links, self.ids, self.text = [], [], [], [], []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        attributes = dict(attributes)
        self.links += [
            attributes[name] for name in ("src", "href", "xlink:href") if name in attributes
        ]
        self.ids += [attributes["id"]] if "id" in attributes else []
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in self.VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


@pytest.fixture(scope="module")
def text(written):
    return written.read_text()


@pytest.fixture(scope="module")
def page(text):
    return Page(text)


@pytest.mark.slow
def test_asks_no_network(page, text):
    assert all(link.startswith(("#", "data:")) for link in page.links)
    assert "url(" not in text.replace("url(#", "")
    assert "@import" not in text
    assert "default-src 'none'" in text


@pytest.mark.slow
def test_is_whole(page, store):
    assert len(page.ids) == len(set(page.ids))
    assert {link[1:] for link in page.links if link.startswith("#")} <= set(page.ids)
    study_audit = StudyAudit.read(store)
    audit = study_audit.summary
    charts = [figure for section in study_sections(study_audit) for figure in section.figures]
    assert page.tags.count("svg") == 3 + len(audit.impacts) + len(charts)
    shown = sum(min(24, len(found.index)) for found in audit.exemplars.values())
    # Beside each exemplar stands an unchanged image of its class; the first page shows lost images of worst classes,
    # and the forecast 24 images to look at first.
    assert 0 < page.tags.count("img") - 2 * shown - 24 <= 3 * 6
    written = " ".join(page.text)
    for needed in ("small", "digits_convnet", "keras 3.15.1", "Welch's test treats"):
        assert needed in written


def test_names_are_escaped(text, page):
    assert page.tags.count("script") == 1  # the page's own, the only one that its policy runs
    (digest,) = re.findall(r"script-src 'sha256-([^']*)'", text)
    script = text.split("<script>")[1].split("</script>")[0]
    assert base64.b64decode(digest) == hashlib.sha256(script.encode()).digest()
    assert "b" not in page.tags
    assert all(name in " ".join(page.text) for name in NAMES)


@pytest.mark.slow
@pytest.mark.usefixtures("without_drawings")
def test_single_members(tmp_path):
    written = write_report(StudyAudit.read(make_study(tmp_path, members=1))).read_text()
    assert 'id="classes"' not in written
    assert "No tests of populations where one has a single member" in written
    assert "majority prediction" not in re.sub('title="[^"]*"', "", written)
    assert ">p of PIEs<" not in written
    Page(written)


@pytest.mark.slow
@pytest.mark.parametrize("done", ["baseline", "some"])
@pytest.mark.usefixtures("without_drawings")
def test_a_study_that_is_being_run_says_first_what_is_missing(tmp_path, done):
    missing = {("int8", 2), ("int8", 3), ("magnitude-0.9", 1)}
    if done == "baseline":
        missing = {(key, member) for key in ("int8", "magnitude-0.9") for member in range(4)}
    text = write_report(StudyAudit.read(make_study(tmp_path, missing=missing))).read_text()
    start = text.index('id="summary"')
    summary = text[start : text.index("</section>", start)]
    counts = (0, 0) if done == "baseline" else (2, 3)
    for key, count in zip(("int8", "magnitude-0.9"), counts, strict=True):
        assert (told := re.search(rf"{count} of 4 members", summary)), key
        assert done == "baseline" or told.start() < summary.index('class="headline"')
    models = "up to 4 independently trained models per variant; those of fixed-point int8 are made from the baseline's."
    assert done == "baseline" or models in html.unescape(text)
