"""The viewer: `tfaudit view DIR`, or `streamlit run viewer.py -- DIR`. One file per page, drawing what it is given."""

from __future__ import annotations

import functools
import importlib
import logging
import sys
from pathlib import Path

import streamlit as st

from tfaudit.app.opening import open_study_audit
from tfaudit.app.text import prose
from tfaudit.errors import InputError, one_line

__all__ = ["show", "view"]

ICON = Path(__file__).with_name("icon.svg")

# Modules of this package, in the order of the menu. (A string here would be shown on every page: Streamlit's magic.)
# They have no icons: for a page's icon the browser would ask a server elsewhere.
PAGES = {
    "overview": "Overview",
    "classes": "Classes",
    "exemplars": "Exemplars",
    "corruptions": "Corruptions",
    "distortion": "Recall distortion",
    "operating_points": "Operating points",
    "groups": "Groups",
    "compare": "Compare two models",
    "label": "Label",
}


def view(arguments: list[str]) -> None:
    """Runs the viewer on the directory that the arguments name.

    Args:
        arguments: of the command line, after `--`.
    """
    pages = {
        name: st.Page(functools.partial(show, name, arguments), title=title, url_path=name, default=name == "overview")
        for name, title in PAGES.items()
    }
    st.session_state["pages"] = pages  # for links from one to another
    chosen = st.navigation(list(pages.values()))
    st.set_page_config(page_title=f"{chosen.title} · tfaudit", page_icon=str(ICON), layout="wide")
    chosen.run()


def show(name: str, arguments: list[str]) -> None:
    """Draws one page; whatever goes wrong becomes one line on it.

    Args:
        name: of the page's module.
        arguments: of the command line, after `--`.
    """
    try:
        if len(arguments) != 1:
            raise InputError(f"directory: {len(arguments)} given; run `tfaudit view DIR` with the one of a study")
        study_audit = open_study_audit(Path(arguments[0]))
        importlib.import_module(f"tfaudit.app.{name}").page(study_audit)  # a page costs nothing until it is opened
    except InputError as problem:
        st.error(prose(str(problem)))
    except Exception as defect:
        logging.getLogger(__name__).exception("page %s", name)
        st.error(f"This page failed: {prose(one_line(defect))}. The terminal shows where.")


if __name__ == "__main__":
    view(sys.argv[1:])
