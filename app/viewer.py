"""The viewer, one module per page: the script that `tfaudit.app.server` serves."""

import functools
import importlib
import json
import logging
import sys
from pathlib import Path

import streamlit as st

from tfaudit.analysis.study_data import StudyData
from tfaudit.app import outcomes
from tfaudit.app.display import PAGE_STYLE, link_to, open_clicked_page, show_alert
from tfaudit.app.image_panel import show_chosen_image
from tfaudit.app.markdown import escape, escape_name
from tfaudit.app.menu import PAGES, PIES, PIES_OF_ONE, WHO_PAYS, below, entries
from tfaudit.app.study_choice import SharedAudit, open_study
from tfaudit.app.url_state import one_entry_per_action, start_notices
from tfaudit.audits.gate.limits import Limits
from tfaudit.errors import InputError, one_line
from tfaudit.outlets.outcome_folder import is_outcome_folder

READ_ONLY = "read-only"

MENU_WIDTH = 230  # pixels: the longest title fits

ARROWS = {"more": ":material/arrow_back:"}  # icons of links back, by path

ICON = Path(__file__).with_name("icon.svg")


def view(arguments: list[str]) -> None:
    """Run the viewer; the arguments are its directory, or a folder of studies, limits as JSON, and `READ_ONLY`."""
    st.set_page_config(page_icon=str(ICON), layout="wide", initial_sidebar_state=MENU_WIDTH)
    if arguments and is_outcome_folder(Path(arguments[0])):
        outcomes.page(Path(arguments[0]))
        return
    menu = st.sidebar.container(key="menu", gap="xsmall")
    start_notices()
    opened = _open(arguments)
    pages = {
        path: st.Page(
            functools.partial(_draw, path, opened),
            title=page.title,
            url_path=path,
            default=path == "overview",
        )
        for path, page in PAGES.items()
    }
    st.session_state["pages"] = pages  # for links from one to another
    chosen = st.navigation(list(pages.values()), position="hidden")
    st.set_page_config(page_title=f"{chosen.title} · tfaudit")
    st.session_state["shown page"] = chosen.url_path
    one_entry_per_action()
    open_clicked_page()
    with menu:
        _draw_menu(chosen.url_path or "overview", opened)
    st.html(PAGE_STYLE)
    chosen.run()


def _draw_menu(path: str, opened: SharedAudit | Exception) -> None:
    """Draw the entries of the menu, of which the one of this page, or above it, is marked."""
    here = PAGES[path].under or path
    data = opened.study_audit.data if isinstance(opened, SharedAudit) else None
    for entry in entries(data):
        with st.container(key="menu-here" if entry == here else f"menu-{entry}"):
            link_to(entry, PAGES[entry].title)


def _draw_neighbours(path: str, data: StudyData) -> None:
    """Draw links between an entry of the menu and the pages below it."""
    entry = PAGES[path].under or path
    if not (others := below(entry, data)) or path == "more":
        return
    with st.container(horizontal=True, key="neighbours"):
        for name in [entry] if entry == "more" else [entry, *others]:
            label = PAGES[name].title
            link_to(name, f"**{label}**" if name == path else label, ARROWS.get(name))


def show_page(path: str, arguments: list[str]) -> None:
    """Draw one of `PAGES`; an error becomes one line on it. The arguments are those of `view`."""
    start_notices()
    _draw(path, _open(arguments))


def _open(arguments: list[str]) -> SharedAudit | Exception:
    """Return the study that the visitor chose, or why it cannot be opened."""
    try:
        if not 1 <= len(arguments) <= 3:
            raise InputError(
                "directory", f"{len(arguments)} directories", "one, as in `tfaudit view DIR`"
            )
        if len(arguments) > 1:
            st.session_state["limits"] = Limits.from_mapping(json.loads(arguments[1]))
        return open_study(Path(arguments[0]), read_only=READ_ONLY in arguments[2:])
    except Exception as problem:
        return problem


def _draw(path: str, opened: SharedAudit | Exception) -> None:
    page = PAGES[path]
    st.session_state["asks who pays"] = {path, page.under} & {*WHO_PAYS} != set()
    try:
        if isinstance(opened, Exception):
            raise opened
        study_audit = opened.prepared()
        # Downloaded charts say what they are of.
        name = study_audit.data.study.name
        st.session_state["titles"] = {
            "": [f"{name}, {study_audit.data.split} split"],
            **study_audit.data.titles,
        }
        single = all(map(study_audit.data.is_single, study_audit.data.compressed_keys))
        definition = page.definition.replace(PIES, PIES_OF_ONE) if single else page.definition
        title = (page.heading or page.title).format(study=escape_name(name))
        st.title(title, help=definition if page.answers_first else None)
        if definition and not page.answers_first:
            st.caption(definition)
        _draw_neighbours(path, study_audit.data)
        if path != "overview":  # which says them in the verdict
            for doubt in study_audit.doubts:
                show_alert(str(doubt))
        if path != "overview" and (missing := study_audit.missing_results()):
            st.warning("  \n".join(map(escape, missing)))  # a link may open this page first
        own = page.module if "." in page.module else f"tfaudit.app.{page.module}"
        module = importlib.import_module(own)  # a page costs nothing until it is opened
        module.page(study_audit, *([path] if page.module == "audit_page" else []))
        show_chosen_image(study_audit)
    except InputError as error:
        st.error(escape(str(error)))
    except Exception as defect:
        logging.getLogger(__name__).exception("page %s", path)
        st.error(f"This page failed: {escape(one_line(defect))}. The terminal shows where.")


if __name__ == "__main__":
    view(sys.argv[1:])
