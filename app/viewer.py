"""The viewer, one module per page: the script that `tfaudit.app.server` serves."""

import dataclasses
import functools
import importlib
import json
import logging
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import streamlit as st

from tfaudit.analysis.audits import AUDITS
from tfaudit.analysis.study_data import StudyData
from tfaudit.app.controls import WHO_PAYS
from tfaudit.app.display import PAGE_STYLE, link_to, open_clicked_page, show_alert
from tfaudit.app.image_panel import show_chosen_image
from tfaudit.app.markdown import escape, escape_name
from tfaudit.app.nouns import set_noun, with_noun
from tfaudit.app.study_choice import SharedAudit, open_study
from tfaudit.app.url_state import one_entry_per_action, start_notices
from tfaudit.audits.gate.limits import Limits
from tfaudit.errors import InputError, one_line

READ_ONLY = "read-only"

MENU_WIDTH = 230  # pixels: the longest title fits

ICON = Path(__file__).with_name("icon.svg")


PIES = (
    "A PIE (pruning identified exemplar) is an image whose majority prediction, the class that most members of a "
    "variant predict, changes with compression."
)
PIES_OF_ONE = (
    "An image whose prediction changes with compression is a PIE, a pruning identified exemplar."
)
OVERVIEW = (
    "Every compressed variant against the baseline, the model before compression, on the same images. Recall is the "
    f"share of a class's images that are predicted right. {PIES}"
)
CLASSES = (
    "The recall of a class is the share of its images that are predicted right, here the mean over the members. A "
    "class that loses recall pays for the compression."
)
CORRUPTIONS = (
    "The same images with fog, noise, blur and the like: does compression cost more there than on clean images? A "
    "change is relative when it is a share of the accuracy before."
)
DISTORTION = (
    "The balance of a class is its recall minus the accuracy; slope 2 means that the balances lie twice as far "
    "from 0 after compression as before."
)
POINTS = (
    "Which variant to ship. Unfairness is the largest minus the smallest recall of a class. The Pareto set holds the "
    "variants that no other beats in one objective without losing in another."
)
ALL = "Every compressed variant beside the others; what is claimed is corrected for all variants together."
GROUPS = "Groups are named by the data, such as a writer or an attribute; individuals have several images each."
SLICES = (
    "A slice is a cluster of images that look alike to the dense model, chosen on one half of the images and tested on "
    "the other."
)
MARGINS = (
    "The margin of an image is the probability of its predicted class minus that of the second best, before "
    "compression. Small ones change first."
)
FLIPS = (
    "One model before and one after compression on the same images. Newly wrong: right before, wrong after. Newly "
    "correct: wrong before, right after."
)


@dataclasses.dataclass(frozen=True)
class ViewerPage:
    """A page of the menu. It has no icon: for a page's icon the browser would ask a server elsewhere."""

    module: str  # of this package; its function `page` takes the `StudyAudit` and draws the page
    title: str  # in the menu
    # Audits it shows; an audit with a question that no page shows gets a page of its own.
    audits: tuple[str, ...] = ()
    heading: str = ""  # above the page; by default the title. `{study}` is the name of the study
    definition: str = ""  # what its words mean, in a line below the heading
    answers_first: bool = (
        False  # whether the definition stands behind a "?", so that the answer fits one screen
    )
    always: bool = False  # whether it is in every menu: where a study allows none of its audits, it says what to run

    def applies(self, data: StudyData) -> bool:
        """Return whether the menu of a study shows the page; a link opens it anyway."""
        keys = data.compressed_keys
        anything = self.always or not self.audits or not keys
        return anything or any(
            AUDITS[name].applies(data, key) for name in self.audits for key in keys
        )


def _menu() -> dict[str, dict[str, ViewerPage]]:
    """Return the pages by URL path, by section of the menu. Shared links hold the paths: they never change."""
    menu = {
        "Verdict": {
            "overview": ViewerPage(
                "overview",
                "Overview",
                ("variant",),
                "What compression forgets: {study}",
                OVERVIEW,
                answers_first=True,
            ),
            "operating_points": ViewerPage(
                "operating_points", "Operating points", ("unfairness",), definition=POINTS
            ),
        },
        WHO_PAYS: {
            "classes": ViewerPage("classes", "Classes", ("class_impact",), definition=CLASSES),
            # The images that one model changes against one are the flips that "compare" shows.
            "exemplars": ViewerPage("exemplars", "Images", ("class_impact",), definition=PIES),
            "groups": ViewerPage(
                "groups", "Groups", ("groups", "attributes", "trends"), definition=GROUPS
            ),
            "intersections": _audit_page("intersections"),
            "slices": ViewerPage("slices", "Slices", ("slices",), definition=SLICES),
        },
        "Why": {
            "corruptions": ViewerPage(
                "corruptions", "Corruptions", ("robustness",), definition=CORRUPTIONS, always=True
            ),
            "distortion": ViewerPage(
                "distortion", "Recall distortion", ("distortion",), definition=DISTORTION
            ),
            "calibration": _audit_page("calibration"),
            "forecast": ViewerPage("forecast", "Forecast", ("forecast",), definition=MARGINS),
        },
        "Compare": {
            "levels": ViewerPage("all_variants", "All variants", definition=ALL),
            "compare": ViewerPage(
                "compare", "Compare two models", ("model_pair",), definition=FLIPS, always=True
            ),
            "negative_flips": _audit_page("negative_flips"),
        },
    }
    shown = {name for pages in menu.values() for page in pages.values() for name in page.audits}
    others = [audit.name for audit in AUDITS.values() if audit.shown and audit.name not in shown]
    menu["Why"] |= {name: _audit_page(name) for name in others}
    return menu


def _audit_page(name: str) -> ViewerPage:
    """Return the page of an audit that has no module of its own."""
    shown = AUDITS[name].shown
    assert shown is not None
    return ViewerPage("audit_page", shown.title, (name,))


MENU: Mapping[str, Mapping[str, ViewerPage]] = _menu()

PAGES: Mapping[str, ViewerPage] = {
    path: page for pages in MENU.values() for path, page in pages.items()
}


def view(arguments: list[str]) -> None:
    """Run the viewer; the arguments are its directory, or a folder of studies, limits as JSON, and `READ_ONLY`."""
    st.set_page_config(page_icon=str(ICON), layout="wide", initial_sidebar_state=MENU_WIDTH)
    menu = st.sidebar.container(key="menu", gap="xsmall")
    start_notices()
    opened = _open(arguments)
    pages: dict[str, Any] = {}
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
    if isinstance(opened, SharedAudit):
        set_noun(opened.study_audit.data.examples_are)
    chosen = st.navigation(list(pages.values()), position="hidden")
    st.set_page_config(page_title=f"{chosen.title} · tfaudit")
    st.session_state["shown page"] = chosen.url_path
    one_entry_per_action()
    open_clicked_page()
    with menu:
        for section, its_pages in MENU.items():
            if entries := [path for path in its_pages if pages[path].visibility == "visible"]:
                st.caption(section)
            for path in entries:
                link_to(path, with_noun(PAGES[path].title))
    st.html(PAGE_STYLE)
    chosen.run()


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
    st.session_state["asks who pays"] = path in MENU[WHO_PAYS]
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
        set_noun(study_audit.data.examples_are)
        single = all(map(study_audit.data.is_single, study_audit.data.compressed_keys))
        definition = page.definition.replace(PIES, PIES_OF_ONE) if single else page.definition
        title = with_noun(page.heading or page.title).format(
            study=escape_name(study_audit.data.study.name)
        )
        st.title(title, help=with_noun(definition) if page.answers_first else None)
        if definition and not page.answers_first:
            st.caption(with_noun(definition))
        if path != "overview":  # which says them in the verdict
            for doubt in study_audit.doubts:
                show_alert(str(doubt))
        if path != "overview" and (missing := study_audit.missing_results()):
            st.warning("  \n".join(map(escape, missing)))  # a link may open this page first
        module = importlib.import_module(
            f"tfaudit.app.{page.module}"
        )  # a page costs nothing until it is opened
        module.page(study_audit, *([AUDITS[path]] if page.module == "audit_page" else []))
        show_chosen_image(study_audit)
    except InputError as error:
        st.error(escape(str(error)))
    except Exception as defect:
        logging.getLogger(__name__).exception("page %s", path)
        st.error(f"This page failed: {escape(one_line(defect))}. The terminal shows where.")


if __name__ == "__main__":
    view(sys.argv[1:])
