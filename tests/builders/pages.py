"""Pages of the viewer: drawn as a script of Streamlit's test harness, and settled in a browser."""

import itertools

HARMED = {"variant": "magnitude 90 %"}
"""Choice of the variant of `make_study` that loses recall."""


def draw(directory, path):
    from tfaudit.app.viewer import show_page

    show_page(path, [str(directory)])


def draw_read_only(directory, path):
    from tfaudit.app.viewer import READ_ONLY, show_page

    show_page(path, [directory, '{"overall_drop_pp": 1.0}', READ_ONLY])


def unescaped(text):
    """What a person reads of a text that was escaped."""
    return text.replace("\\", "").replace("\N{WORD JOINER}", "").replace("\xa0", " ")


def words(app):
    """All sentences of a page, as a person reads them."""
    kinds = (
        app.markdown,
        app.caption,
        app.info,
        app.success,
        app.warning,
        app.error,
        app.header,
    )
    return unescaped("\n".join(str(element.value) for kind in kinds for element in kind))


def bodies(app):
    """All HTML of a page, element by element."""
    return [html.proto.body for html in app.get("html")]


def cards(app):
    """The HTML of the cards of images."""
    return [body for body in bodies(app) if "<figure" in body]


QUIET = """asked => {
    const note = () => { window.changed = performance.now(); };
    if (!window.changed) {
        new MutationObserver(note).observe(document.body, {subtree: true, childList: true, characterData: true});
    }
    if (window.asked !== asked) {
        window.asked = asked;
        window.waiting = true;
        const answered = () => { window.waiting = false; note(); };
        fetch("/_stcore/health", {cache: "no-store"}).then(answered, answered);
    }
    const app = document.querySelector("[data-testid=stApp]");
    const drawn = document.querySelector("[data-testid=stMain] :is(h1, [data-testid=stAlert])");
    if (!drawn || window.waiting || app.dataset.testScriptState !== "notRunning") note();
    return performance.now() - window.changed > 200;
}"""

_QUESTIONS = itertools.count(1)


def settled(page):
    """Wait until Streamlit has run the page to its end and the browser has drawn it.

    A page that has not reached its server yet is "not running", too: a heading or a message must exist. Nor is one
    whose busy server has not begun to run it after a click: the server must have answered a question asked since.
    """
    page.wait_for_timeout(100)  # for a click to be noticed
    page.wait_for_function(QUIET, arg=next(_QUESTIONS), polling=50, timeout=60_000)


def choose(page, box, option):
    """Choose `option` from the list of `box`, which a page that draws again closes: it is then opened again."""
    from playwright.sync_api import TimeoutError

    shown = page.get_by_role("option", name=option, exact=True)
    for last in (False, False, True):
        settled(page)
        box.click()
        try:
            box.fill(option, timeout=5_000)  # a long list holds only the options in sight
            shown.click(timeout=5_000)
            break
        except TimeoutError:
            if last:
                raise
            box.press("Escape")
    settled(page)
