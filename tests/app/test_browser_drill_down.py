"""From the class that pays most to its images, in a real browser: Back undoes each action."""

import itertools
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.builders.accessibility import violations
from tests.builders.nightly import and_nightly
from tests.builders.pages import settled
from tfaudit.app.menu import PAGES

pytestmark = pytest.mark.slow
expect = pytest.importorskip("playwright.sync_api").expect

PRUNED = "magnitude 90 %"


def choices(page):
    """The page's name and its choices, as the URL has them; of several values the last."""
    url = urlsplit(page.url)
    return url.path.strip("/"), {
        key: texts[-1] for key, texts in parse_qs(url.query, keep_blank_values=True).items()
    }


def marks(page, key):
    """Marks of the chart of a key that a click selects."""
    drawn = page.locator(f"[class*='st-key-{key}']").locator("path[aria-roledescription]")
    drawn.first.wait_for()
    drawn.first.scroll_into_view_if_needed()
    settled(page)  # what is scrolled to may be drawn then
    return drawn


def test_one_entry_per_action_and_back_undoes_one(viewer, visit):
    page = visit(viewer.url)
    main = page.get_by_test_id("stMain")
    actions = [
        lambda: page.locator("tr[data-variant='magnitude-0.9']").click(
            position={"x": 300, "y": 20}
        ),
        lambda: marks(page, "chart-classes").nth(2).click(force=True),
        lambda: main.get_by_role("radio", name="more than the average").click(),
        lambda: (
            marks(page, "chart-confusion")
            .and_(page.locator("[aria-label*='after;']"))
            .first.click(force=True)
        ),
        lambda: page.locator(".st-key-cards button").first.click(),
        lambda: (
            page.get_by_role("dialog")
            .get_by_role("button", name="The same image under corruption")
            .click()
        ),
        lambda: page.locator(".st-key-menu").get_by_role("link", name="Examples").click(),
    ]
    pages = ["classes", "classes", "classes", "exemplars", "exemplars", "corruptions", "exemplars"]
    places, lengths = [page.url], [page.evaluate("history.length")]
    for act, name in zip(actions, pages, strict=True):
        print(f"from {places[-1]} to {name}")
        act()
        page.wait_for_url(
            lambda url, name=name: url != places[-1] and f"/{name}?" in url, timeout=60_000
        )  # choices come first
        settled(page)
        places.append(page.url)
        lengths.append(page.evaluate("history.length"))
    assert [after - before for before, after in itertools.pairwise(lengths)] == [1] * len(actions)
    assert choices(page)[1]["variant"] == PRUNED
    assert {"class", "question"} <= set(
        choices(page)[1]
    )  # the first image under corruption has no parameter
    assert "corruptions=One+image" in places[-2]
    for place in reversed(places[:-1]):
        page.go_back()
        page.wait_for_url(place)
        settled(page)
        shown = parse_qs(urlsplit(place).query)
        expect(page.get_by_role("dialog")).to_have_count(int("image" in shown))
        if "classes" in place:
            asked = shown.get("question", ["lost recall"])
            assert set(asked) <= set(main.get_by_role("radio", checked=True).all_inner_texts())
            if "class" in shown:
                expect(page.get_by_role("combobox", name="Class")).to_have_value(shown["class"][0])


def test_the_panel_leads_from_image_to_image_by_keys(viewer, visit):
    page = visit(f"{viewer.url}/exemplars?variant=magnitude+90+%25&show=all+images")
    panel = page.get_by_role("dialog")
    page.locator(".st-key-cards button").nth(1).click()
    expect(panel).to_contain_text("2 of")
    settled(page)
    assert "{" not in panel.inner_text()
    seen = [choices(page)[1]["image"]]
    length = page.evaluate("history.length")
    for key, place in (("ArrowRight", 3), ("ArrowLeft", 2), ("ArrowLeft", 1)):
        page.keyboard.press(key)
        expect(panel).to_contain_text(f"{place} of")
        settled(page)
        seen.append(choices(page)[1]["image"])
    assert seen[0] == seen[2]
    assert len(set(seen)) == 3
    assert page.evaluate("history.length") == length + 1  # Back undoes all arrow keys at once
    expect(panel.get_by_role("button", name="Previous")).to_be_disabled()
    picture = panel.locator("img")
    small = picture.bounding_box()["width"]
    picture.click(force=True)  # the button lies over it
    expect(panel.get_by_role("button", name="Smaller")).to_be_visible()
    settled(page)
    assert picture.bounding_box()["width"] > 2 * small
    page.keyboard.press("ArrowRight")
    expect(panel).to_contain_text("2 of")
    settled(page)
    assert picture.bounding_box()["width"] > 2 * small  # the next one is as large
    page.keyboard.press("Escape")
    panel.wait_for(state="detached")
    page.wait_for_url(
        lambda url: "image=" not in url
    )  # the server learns of the key after the panel has gone


CHARTS = and_nightly(
    [
        ("", "chart-accuracy", -1, "classes"),
        (
            "groups?groups=Images&variant=magnitude+50+%25",
            "chart-property-magnitude-0-5-histogram",
            9,
            "exemplars",
        ),
    ],
    [
        ("corruptions", "chart-robustness-relative-top1", 3, "corruptions"),
        ("negative_flips", "chart-negative_flips", 0, "exemplars"),
        ("", "chart-size", -1, "classes"),
        ("operating_points", "chart-operating-points", 1, "classes"),
        ("compare", "chart-pair", 2, "compare"),
        ("compare", "chart-matrix", 2, "compare"),
        ("exemplars?exemplars=By+variant", "chart-exemplars-by-level", -1, "exemplars"),
        (
            "classes?variant=magnitude+90+%25&about=Under+corruption",
            "chart-corruptions",
            0,
            "corruptions",
        ),
        ("distortion", "chart-distortion-slopes", -1, "classes"),
        ("distortion", "chart-distortion-accuracy-slope", -1, "classes"),
        ("groups?groups=Individuals", "chart-groups", 5, "exemplars"),
        ("groups?groups=Exemplars", "chart-attributes", 1, "exemplars"),
        ("exemplars?exemplars=Difficulty", "chart-difficulty", 1, "exemplars"),
        ("intersections", "chart-intersections", 0, "exemplars"),
        ("calibration", "chart-calibration", -1, "exemplars"),
        (
            "groups?groups=Images&variant=magnitude+50+%25",
            "chart-property-magnitude-0-5-0-1",
            -1,
            "exemplars",
        ),
        (
            "groups?groups=Images&variant=magnitude+50+%25",
            "chart-property-magnitude-0-5-change",
            5,
            "exemplars",
        ),
    ],
)


@pytest.mark.parametrize(("start", "key", "at", "end"), CHARTS)
def test_a_click_in_a_chart_leads_to_what_it_shows(viewer, visit, start, key, at, end):
    page = visit(f"{viewer.url}/{start}")
    before, points = page.url, marks(page, key)
    points.nth(at % points.count()).click(force=True)
    page.wait_for_url(lambda url: url != before and urlsplit(url).path == f"/{end}")
    settled(page)
    _, chosen = choices(page)
    assert {"variant", "class", "corruption", "attribute", "show", "from"} & set(chosen)
    assert "class" in chosen or not start.startswith("classes")
    assert (
        page.get_by_test_id("stAlert" if end == "exemplars" else "stAlertContentError").count() == 0
    )


ENTRIES = [
    "Verdict",
    "Classes",
    "Examples",
    "Groups",
    "Corruptions",
    "Before and after",
    "Trade-offs",
]


def test_the_menu_has_eight_entries_that_lead_to_every_page(viewer, visit):
    page = visit(viewer.url)
    menu, main = page.locator(".st-key-menu"), page.get_by_test_id("stMain")
    menu.get_by_role("link", name="More").wait_for()  # the last to be drawn
    assert menu.locator("a").all_inner_texts() == [*ENTRIES, "More"]
    reached = set()
    for entry in ("Groups", "More"):
        menu.get_by_role("link", name=entry).click()
        page.wait_for_url(f"**/{entry.lower()}*")
        settled(page)
        links = main.get_by_test_id("stPageLink-NavLink").all()
        reached |= {urlsplit(link.get_attribute("href")).path.rpartition("/")[2] for link in links}
    below = {path for path, its in PAGES.items() if its.under}
    lacks = {
        "slices",
        "remedies",
        "candidates",
        "survey",
        "factors",
    }  # what this study does not have
    assert below - lacks <= reached
    main.get_by_role("link", name="Do weak classes get weaker?").click()
    expect(main.get_by_role("heading", level=1)).to_have_text("Recall distortion")
    settled(page)
    assert menu.locator(".st-key-menu-here").inner_text() == "More"
    assert not violations(page)
    main.get_by_role("link", name="More").click()
    page.wait_for_url("**/more*")
