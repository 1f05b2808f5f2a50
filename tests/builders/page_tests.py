"""Pages of the viewer, run by Streamlit's own harness."""

import functools
import sys
from pathlib import Path

import pytest

from tests.builders.pages import draw


@pytest.fixture
def app_test(monkeypatch):
    """Streamlit's AppTest, which leaves a main module behind that processes of later tests could not import.

    It would read the metadata of all installed packages for each app, for components, which tfaudit has none of.
    """
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])
    monkeypatch.setattr("streamlit.components.v2.manifest_scanner.scan_component_manifests", list)
    return pytest.importorskip("streamlit.testing.v1").AppTest


@pytest.fixture
def run_page(app_test):
    """`run_page(draw, arguments, query)` runs a function that draws a page, and returns Streamlit's AppTest."""

    def run(draw, arguments, query):
        app = app_test.from_function(draw, args=arguments, default_timeout=60)
        for key, value in query.items():
            app.query_params[key] = value
        app.run()
        assert not app.exception
        return app

    return run


@pytest.fixture
def open_page(run_page):
    """Runs one page of a study, `open_page(directory, "classes", variant="int8")`, and returns Streamlit's AppTest."""
    return lambda directory, name, **query: run_page(draw, (str(directory), name), query)


@pytest.fixture
def opened(open_page, store, request):
    """Opens the page that a test's module, or its folder, is named for, of its study, with its choices `HARMED`."""
    place = Path(request.module.__file__)
    name = place.parent.name if place.stem == "test_page" else place.stem.removeprefix("test_")
    choices = getattr(request.module, "HARMED", {})
    return functools.partial(open_page, store.directory, name, **choices)
