"""A study of digits, pages run by Streamlit's own harness, and `tfaudit view` in a real browser."""

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request

import pytest

from tests.builders.many_classes import MANY, make_study_of_many_classes
from tests.builders.page_studies import make_page_study
from tests.builders.pages import settled
from tfaudit.analysis.study_audit import StudyAudit


@pytest.fixture(scope="session")
def digits(made_once):
    """The directory of a study of real digits with simulated members, audited; do not write into it."""
    return made_once("digits-for-pages", lambda directory: audited(make_page_study(directory)))


def audited(store):
    """Audit a study once for all viewers of copies of it."""
    StudyAudit.read(store).prepare()


PATIENCE = 180  # seconds until a viewer must have started; on a busy machine 30 were too few


class Server:
    """`tfaudit view DIR` on a free port; `url` is where, `start` and `stop` may be called again and again."""

    def __init__(self, directory, *options, cwd=None, **environment):
        with socket.socket() as probe:
            probe.bind(("localhost", 0))
            self.port = probe.getsockname()[1]
        self.directory = directory
        self.url = f"http://localhost:{self.port}"
        self.options = str(directory), "--port", str(self.port), *options
        self.cwd, self.environment = cwd, environment
        self.process = None

    def start(self):
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", "tfaudit", "view", *self.options],
            cwd=self.cwd,
            env={**os.environ, "STREAMLIT_SERVER_HEADLESS": "true", **self.environment},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            with (
                contextlib.suppress(OSError),
                urllib.request.urlopen(f"{self.url}/_stcore/health", timeout=1) as answer,
            ):
                if answer.status == 200:
                    return
            if self.process.poll() is not None:
                break
            time.sleep(0.1)
        self.process.kill()  # what it writes to stderr ends only with it
        pytest.fail(f"the viewer did not start: {self.process.stderr.read().decode()}")

    def stop(self):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, 9)  # also what it started
        self.process.wait()
        self.process.stderr.close()


@pytest.fixture(scope="session")
def serve():
    """`serve(directory)` starts a viewer, which ends with the tests, and returns its `Server`; it takes its options."""
    servers = []

    def start(directory, *options, **settings):
        server = Server(directory, *options, **settings)
        servers.append(server)
        server.start()
        return server

    yield start
    for server in servers:
        server.stop()


@pytest.fixture(scope="session")
def viewer(serve, digits, tmp_path_factory):
    """A viewer on a copy of the digits study."""
    directory = tmp_path_factory.mktemp("viewed") / "digits"
    shutil.copytree(digits, directory)
    return serve(directory)


@pytest.fixture(scope="session")
def two(serve, digits, made_once, tmp_path_factory):
    """A viewer on a folder of two studies, whose classes have other names: the digits and `MANY`."""
    folder = tmp_path_factory.mktemp("folder")
    shutil.copytree(digits, folder / "digits")
    many = made_once(
        "many-classes", lambda directory: audited(make_study_of_many_classes(directory))
    )
    shutil.copytree(many, folder / MANY)
    return serve(folder)


@pytest.fixture(scope="session")
def idle_pages(browser):
    """`idle_pages(width, scheme)` returns a page that no test uses now, `idle_pages.back(page)` hands it back.

    A page that is used again draws the next one in half the time: it has Streamlit's scripts at hand, compiled.
    """
    pages = IdlePages(browser)
    yield pages
    pages.close()


class IdlePages:
    """Blank pages of a browser, by the form in which tests want them."""

    def __init__(self, browser):
        self.browser, self.contexts, self.idle, self.forms = browser, {}, {}, {}

    def __call__(self, width, scheme):
        form = width, scheme
        if form not in self.contexts:
            viewport = {"width": width, "height": 900}
            made = self.browser.new_context(
                viewport=viewport, color_scheme=scheme, accept_downloads=True
            )
            self.contexts[form], self.idle[form] = made, []
        page = self.idle[form].pop() if self.idle[form] else self.contexts[form].new_page()
        self.forms[page] = form
        return page

    def back(self, page):
        width, scheme = self.forms.pop(page)
        if page.is_closed():
            return
        page.evaluate("sessionStorage.clear()")
        page.goto("about:blank")  # Streamlit loses its visitor
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)
        self.idle[width, scheme].append(page)

    def close(self):
        for context in self.contexts.values():
            context.close()


@pytest.fixture
def visit(idle_pages):
    """`visit(url, width=1280, scheme="light")` opens a page of a viewer, waits until it is drawn and returns it.

    Each page is a visitor of its own to Streamlit. What goes wrong in the browser is gathered, and fails the test at
    its end.
    """
    pages, wrong = [], []

    def console(message):
        if is_ours(message):
            wrong.append(message.text)

    def broken(error):
        wrong.append(str(error))

    def opened(url, *, width=1280, scheme="light"):
        page = idle_pages(width, scheme)
        pages.append(page)
        page.on("console", console)
        page.on("pageerror", broken)
        page.goto(url)
        settled(page)
        return page

    yield opened
    for page in pages:
        page.remove_listener("console", console)
        page.remove_listener("pageerror", broken)
        idle_pages.back(page)
    assert not wrong, wrong


def is_ours(message):
    """An error, but not Streamlit's: it first looks for its server below the page's own path."""
    return message.type == "error" and "/_stcore/" not in message.location["url"]
