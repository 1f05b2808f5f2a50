"""Every control of every page keeps its value while another control changes, in a real browser."""

import re
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

from tests.builders.nightly import first_and_nightly
from tests.builders.pages import settled

pytestmark = pytest.mark.slow
expect = pytest.importorskip("playwright.sync_api").expect

VARIANT = {"variant": "magnitude 90 %"}
LIMITS = {"max_worst_class_drop": "7", "max_flips": "0.4"}
WORTHS = {"floor": "80", "worth": "2", "worth-unfairness": "5", "worth-accuracy": "0.5"}
CLASS = {"class": "3", "question": "more than the average", "correction": "uncorrected"}
CLASS |= {"sort": "name", "search": "3", "published": "true", "centering": "population"}
FILTERS = {"show": "all examples", "attribute": "hand: left", "order": "as stored", "from": "3"}

COLUMNS = re.compile(r"All \d+ columns")

PLACES = [
    ("", LIMITS, "More on every variant"),
    ("operating_points", LIMITS | WORTHS | {"against": "sparsity"}, COLUMNS),
    ("classes", VARIANT | CLASS | {"about": "Recall of every member"}, "fixed-point int8"),
    ("exemplars", VARIANT | FILTERS, "float16"),
    ("groups", VARIANT | {"by": "hand", "groups": "Exemplars"}, "fixed-point int8"),
    ("corruptions", VARIANT | {"corruptions": "Classes"}, "fixed-point int8"),
    (
        "compare",
        VARIANT | {"reference": "float16", "after": "2", "kind": "newly wrong"},
        COLUMNS,
    ),
]
"""A page, the values of its controls, and the text of another control that is then changed."""

CONTROLS = """() => [...document.querySelectorAll(`
    [data-testid=stMain] :is(input:not([type=checkbox]), [data-tag], [role=radio][aria-checked=true], input:checked,
    [role=tab][aria-selected=true], [aria-current]), [data-testid=stPopoverBody] input
`)].map(control => [control.ariaLabel ?? control.role ?? control.type, control.value || control.innerText]
    .join(": "))"""


def controls(page):
    """What every control shows, also those of the limits, whose fields are drawn while they are open."""
    limits = page.get_by_role("button", name="Limits")
    if limits.count():
        limits.click()
        page.get_by_role("spinbutton").first.wait_for()
    shown = page.evaluate(CONTROLS)
    page.keyboard.press("Escape")
    return set(shown)


@pytest.mark.parametrize(("path", "values", "other"), first_and_nightly(PLACES, 3))
def test_controls_keep_their_values(viewer, visit, path, values, other):
    page = visit(f"{viewer.url}/{path}?{urlencode(values)}")
    linked = controls(page)
    page.get_by_test_id("stMain").get_by_text(other, exact=True).first.click()
    settled(page)
    chosen = {key: texts[0] for key, texts in parse_qs(urlsplit(page.url).query).items()}
    assert len(set(values.items()) - set(chosen.items())) <= 1  # the other control's own
    changed = {control for control in linked - controls(page) if not control.startswith("Page ")}
    assert len(changed) <= 1
    assert page.get_by_text("In the link").count() == 0
