"""Response times of the viewer on a study of ImageNet's size, in a real browser, compared with audits without a cache.

    pip install playwright   # and Debian's chromium
    python benchmarks/viewer.py [--store DIR] [--members 30] [--images 50000] [--classes 1000]

The study is simulated (see `simulated_study.py`): a dense population and 8 variants. `tfaudit view` serves it and
Chromium opens it.

1. The very first visit, without cached audits: seconds until something is painted and until the table is shown.
2. A new server with cached audits: seconds from the request until the table is shown, median of three. Goal: 3 s. For
   comparison, the time of the audit alone, computed from the predictions, as every new session of a viewer without a
   cache would have to.
3. Clicks: seconds from the click until the page is redrawn, measured in the browser. Each page is opened for the first
   time on a new server; of other clicks the slowest of three counts. Goal: 1 s.
"""

import argparse
import contextlib
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

from playwright.sync_api import Page, sync_playwright
from simulated_study import make_store

from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.app.menu import PAGES
from tfaudit.store.store import open_store

HEADLESS = shutil.which("chromium-headless-shell", path="/usr/lib/chromium")
"""Chromium without a window."""

DONE = "[data-testid=stApp][data-test-script-state=notRunning]"


@contextlib.contextmanager
def served(directory: Path) -> Iterator[str]:
    """Serve a study in the viewer; the context is its URL."""
    with socket.socket() as probe:
        probe.bind(("localhost", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "tfaudit", "view", str(directory), "--port", str(port)]
    quiet = {**os.environ, "STREAMLIT_SERVER_HEADLESS": "true"}
    with subprocess.Popen(command, env=quiet, stdout=subprocess.DEVNULL) as server:
        url = f"http://localhost:{port}"
        try:
            while True:
                with (
                    contextlib.suppress(OSError),
                    urllib.request.urlopen(f"{url}/_stcore/health", timeout=1),
                ):
                    break
                time.sleep(0.05)
            yield url
        finally:
            server.kill()


def drawn(page: Page) -> None:
    """Wait until Streamlit has run the page and the browser has painted it."""
    page.wait_for_selector(DONE, timeout=300_000)
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


WATCH = """() => {
  window.clicked = window.done = 0;
  for (const kind of ['pointerdown', 'keydown'])
    document.addEventListener(kind, () => { window.clicked = performance.now(); }, {capture: true});
  const app = document.querySelector('[data-testid=stApp]');
  new MutationObserver(() => {
    if (app.getAttribute('data-test-script-state') === 'notRunning')
      requestAnimationFrame(() => requestAnimationFrame(() => { window.done = performance.now(); }));
  }).observe(app, {attributes: true, attributeFilter: ['data-test-script-state']});
}"""
"""Measures in the page itself, since Playwright polls only every half second."""


def click_seconds(page: Page, click: Callable[[], None]) -> float:
    """Return the seconds from the last click or key until the page is redrawn."""
    page.evaluate(WATCH)
    click()
    page.wait_for_function("window.done > window.clicked", timeout=60_000)
    page.wait_for_timeout(300)  # in case it runs again
    drawn(page)
    return page.evaluate("(window.done - window.clicked) / 1000")


def first_visit(url: str, page: Page) -> tuple[float, float]:
    """Return the seconds until the first text and until the table is shown."""
    start = time.perf_counter()
    page.goto(url)
    text = "document.querySelector('[data-testid=stMain]')?.innerText.trim()"
    page.wait_for_function(text, timeout=60_000)
    painted = time.perf_counter() - start
    page.locator("tr[data-variant]").first.wait_for(timeout=600_000)
    return painted, time.perf_counter() - start


def pick(page: Page, label: str) -> Callable[[], None]:
    """Return a click on an option of a choice."""
    return lambda: (
        page.get_by_test_id("stMain").get_by_role("radio", name=label, exact=True).first.click()
    )


def row(page: Page) -> Callable[[], None]:
    """Return a click on the first row of the verdict."""
    return lambda: page.locator("tr[data-variant]").first.click(position={"x": 300, "y": 20})


def choose(page: Page, label: str, option: str) -> Callable[[], None]:
    """Return typing into a list and choosing the option that it finds."""

    def act() -> None:
        box = page.get_by_test_id("stMain").get_by_role("combobox", name=label).first
        box.click()
        box.press_sequentially(option)
        page.get_by_role("option", name=option, exact=True).first.click()

    return act


def turn(page: Page, number: int) -> Callable[[], None]:
    """Return a click on a page of the gallery."""
    return lambda: (
        page.get_by_test_id("stMain")
        .get_by_role("button", name=f"Page {number}", exact=True)
        .first.click()
    )


def push(page: Page, label: str) -> Callable[[], None]:
    """Return moving a slider by one step to the right."""

    def act() -> None:
        slider = page.get_by_role("slider", name=label).first
        slider.focus()
        slider.press("ArrowRight")

    return act


def clicks(page: Page, url: str) -> Iterator[tuple[str, float]]:
    """Yield every kind of click and its seconds."""
    todo = {
        "": [("a row of the verdict", [row(page)])],
        "classes": [
            ("another variant", [pick(page, f"magnitude {p} %") for p in (30, 50, 70)]),
            (
                "another correction",
                [pick(page, name) for name in ("uncorrected", "Benjamini-Hochberg", "Holm")],
            ),
            (
                "another question",
                [pick(page, name) for name in ("more than the average", "lost recall")],
            ),
            ("one class of 1,000", [choose(page, "Class", f"class {c}") for c in (7, 420, 980)]),
        ],
        "exemplars": [
            ("another variant", [pick(page, f"magnitude {p} %") for p in (30, 50, 70)]),
            (
                "kind of change",
                [
                    choose(page, "Examples", name)
                    for name in ("newly wrong", "newly correct", "changed")
                ],
            ),
            ("next page", [turn(page, number) for number in (2, 3, 4)]),
            ("one class of 1,000", [choose(page, "Class", f"class {c}") for c in (7, 420, 980)]),
        ],
        "operating_points": [("the accuracy floor", [push(page, "Accuracy floor, %")] * 3)],
    }
    for title in (viewer_page.title for viewer_page in PAGES.values()):
        link = page.locator(".st-key-menu").get_by_role("link", name=title, exact=True)
        if (
            title != "Overview" and link.count()
        ):  # the menu leaves out pages that the study does not allow
            yield f"{title}, opened for the first time", click_seconds(page, link.click)
    for name, kinds in todo.items():
        page.goto(f"{url}/{name}")
        drawn(page)
        for kind, acts in kinds:
            yield f"{name or 'overview'}: {kind}", max(click_seconds(page, act) for act in acts)


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--store", type=Path, help="folder of the study; created if missing")
    parser.add_argument("--members", type=int, default=30)
    parser.add_argument("--images", type=int, default=50_000)
    parser.add_argument("--classes", type=int, default=1000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary, sync_playwright() as playwright:
        directory = options.store or Path(temporary)
        make_store(directory, options.members, options.images, options.classes)
        chromium = playwright.chromium.launch(
            executable_path=shutil.which("chromium") or HEADLESS, args=["--no-sandbox"]
        )

        def new_page() -> Page:
            return chromium.new_context(viewport={"width": 1280, "height": 900}).new_page()

        shutil.rmtree(directory / "audit", ignore_errors=True)
        with served(directory) as url:
            painted, whole = first_visit(url, new_page())
            print(f"first visit: {painted:.1f} s to the first text, {whole:.1f} s to the table")
        cached, computed = [], []
        for _ in range(3):
            with served(directory) as url:
                cached.append(first_visit(url, new_page())[1])
            shutil.move(directory / "audit", directory / "audit.away")
            start = time.perf_counter()
            StudyAudit.read(open_store(directory)).summary.frame()
            computed.append(time.perf_counter() - start)
            shutil.rmtree(directory / "audit")
            shutil.move(directory / "audit.away", directory / "audit")
        first, peer = statistics.median(cached), statistics.median(computed)
        print(
            f"a new server and visitor: {first:.2f} s to the table, goal 3; the audit without a cache: {peer:.1f} s"
        )
        with served(directory) as url:
            page = new_page()
            first_visit(url, page)
            drawn(page)
            page.locator(
                "[data-testid=stVegaLiteChart] svg"
            ).first.wait_for()  # a visitor clicks when all is there
            for what, took in clicks(page, url):
                print(f"{what}: {took:.2f} s, goal 1")


if __name__ == "__main__":
    main()
