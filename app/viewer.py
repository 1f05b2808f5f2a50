"""The viewer, one module per page: the script that `tfaudit.app.server` serves."""

import dataclasses
import functools
import importlib
import json
import logging
import sys
from collections.abc import Mapping
from pathlib import Path

import streamlit as st

from tfaudit.analysis.audits import AUDITS
from tfaudit.analysis.study_data import StudyData
from tfaudit.app.markdown import escape, escape_name
from tfaudit.app.study_choice import SharedAudit, open_study
from tfaudit.audit.gate.limits import Limits
from tfaudit.errors import InputError, one_line

READ_ONLY = "read-only"

ICON = Path(__file__).with_name("icon.svg")


@dataclasses.dataclass(frozen=True)
class ViewerPage:
    """A page of the menu. It has no icon: for a page's icon the browser would ask a server elsewhere."""

    module: str  # of this package; its function `page` takes the `StudyAudit` and draws the page
    title: str  # in the menu
    audits: tuple[str, ...] = ()  # audits it shows; an audit with a question that no page shows gets a page of its own
    heading: str = ""  # above the page; by default the title. `{study}` is the name of the study
    always: bool = False  # whether it is in the menu of studies, too, that allow none of its audits

    def applies(self, data: StudyData) -> bool:
        """Return whether the menu of a study shows the page; a link opens it anyway."""
        keys = data.compressed_keys
        anything = self.always or not self.audits or not keys
        return anything or any(AUDITS[name].applies(data, key) for name in self.audits for key in keys)


def _pages() -> dict[str, ViewerPage]:
    """Return the pages by URL path, in the order of the menu. Shared links hold the paths: they never change."""
    pages = {
        "overview": ViewerPage("overview", "Overview", ("variant",), "What compression forgets: {study}"),
        "classes": ViewerPage("classes", "Classes", ("class_impact",)),
        # The exemplars of one model against one are the flips that "compare" shows.
        "exemplars": ViewerPage("exemplars", "Exemplars", ("class_impact",)),
        "corruptions": ViewerPage("corruptions", "Corruptions", ("robustness",)),
        "distortion": ViewerPage("distortion", "Recall distortion", ("distortion",)),
        "operating_points": ViewerPage("operating_points", "Operating points", ("unfairness",)),
        "levels": ViewerPage("levels", "All variants"),
        "groups": ViewerPage("groups", "Groups", ("groups", "attributes", "trends")),
        "compare": ViewerPage("compare", "Compare two models", ("model_pair",), always=True),
        "label": ViewerPage("human_rating", "Human rating"),
    }
    shown = {name for page in pages.values() for name in page.audits}
    others = [audit for audit in AUDITS.values() if audit.question and audit.name not in shown]
    return pages | {audit.name: ViewerPage("audit_page", audit.title, (audit.name,)) for audit in others}


PAGES: Mapping[str, ViewerPage] = _pages()


def view(arguments: list[str]) -> None:
    """Run the viewer; the arguments are its directory, or a folder of studies, limits as JSON, and `READ_ONLY`."""
    pages, opened = {}, _open(arguments)
    for path, page in PAGES.items():
        hidden = isinstance(opened, SharedAudit) and not page.applies(opened.study_audit.data)
        pages[path] = st.Page(
            functools.partial(_draw, path, opened),
            title=page.title,
            url_path=path,
            default=path == "overview",
            visibility="hidden" if hidden else "visible",
        )
    st.session_state["pages"] = pages  # for links from one to another
    chosen = st.navigation(list(pages.values()))
    st.set_page_config(page_title=f"{chosen.title} · tfaudit", page_icon=str(ICON), layout="wide")
    chosen.run()


def show_page(path: str, arguments: list[str]) -> None:
    """Draw one of `PAGES`; an error becomes one line on it. The arguments are those of `view`."""
    _draw(path, _open(arguments))


def _open(arguments: list[str]) -> SharedAudit | Exception:
    """Return the study that the visitor chose, or why it cannot be opened."""
    try:
        if not 1 <= len(arguments) <= 3:
            raise InputError("directory", f"{len(arguments)} directories", "one, as in `tfaudit view DIR`")
        if len(arguments) > 1:
            st.session_state["limits"] = Limits.from_mapping(json.loads(arguments[1]))
        return open_study(Path(arguments[0]), read_only=READ_ONLY in arguments[2:])
    except Exception as problem:
        return problem


def _draw(path: str, opened: SharedAudit | Exception) -> None:
    page = PAGES[path]
    try:
        if isinstance(opened, Exception):
            raise opened
        study_audit = opened.prepared()
        st.title((page.heading or page.title).format(study=escape_name(study_audit.data.study.name)))
        module = importlib.import_module(f"tfaudit.app.{page.module}")  # a page costs nothing until it is opened
        module.page(study_audit, *([AUDITS[path]] if page.module == "audit_page" else []))
    except InputError as error:
        st.error(escape(str(error)))
    except Exception as defect:
        logging.getLogger(__name__).exception("page %s", path)
        st.error(f"This page failed: {escape(one_line(defect))}. The terminal shows where.")


if __name__ == "__main__":
    view(sys.argv[1:])
