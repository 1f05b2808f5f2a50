"""Pages of the viewer: drawn as a script of Streamlit's test harness, and settled in a browser."""


def draw(directory, path):
    from tfaudit.app.viewer import show_page

    show_page(path, [str(directory)])


def draw_read_only(directory, path):
    from tfaudit.app.viewer import READ_ONLY, show_page

    show_page(path, [directory, '{"overall_drop_pp": 1.0}', READ_ONLY])


QUIET = """() => {
    const note = () => { window.changed = performance.now(); };
    if (!window.changed) {
        note();
        new MutationObserver(note).observe(document.body, {subtree: true, childList: true, characterData: true});
    }
    const app = document.querySelector("[data-testid=stApp]");
    const drawn = document.querySelector("[data-testid=stMain] :is(h1, [data-testid=stAlert])");
    if (!drawn || app.dataset.testScriptState !== "notRunning") note();
    return performance.now() - window.changed > 200;
}"""


def settled(page):
    """Wait until Streamlit has run the page to its end and the browser has drawn it.

    A page that has not reached its server yet is "not running", too: a heading or a message must exist.
    """
    page.wait_for_timeout(100)  # for a click to be noticed
    page.wait_for_function(QUIET, polling=50, timeout=60_000)


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
