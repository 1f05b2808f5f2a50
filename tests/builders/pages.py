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
