"""The pages of the viewer and its menu: at most eight entries, by what a visitor wants to know."""

from collections.abc import Iterator, Mapping

from tfaudit.analysis.audits import AUDITS
from tfaudit.analysis.joint_audits import JOINT_AUDITS, declaration_of
from tfaudit.analysis.study_data import StudyData
from tfaudit.app.viewer_page import ViewerPage
from tfaudit.extensions import Registry

PIES = (
    "A PIE (pruning identified exemplar) is an example whose majority prediction, the class that most members of a "
    "variant predict, changes with compression."
)
PIES_OF_ONE = (
    "An example whose prediction changes with compression is a PIE, a pruning identified exemplar."
)
OVERVIEW = (
    "Every compressed variant against the baseline, the model before compression, on the same examples. Recall is the "
    f"share of a class's examples that are predicted right. {PIES}"
)
CLASSES = (
    "The recall of a class is the share of its examples that are predicted right, here the mean over the members. A "
    "class that loses recall pays for the compression."
)
CORRUPTIONS = (
    "The same images with fog, noise, blur and the like: does compression cost more there than on clean images? A "
    "change is relative when it is a share of the accuracy before."
)
GROUPS = "Groups are named by the data, such as a writer or an attribute; individuals have several examples each."
FLIPS = (
    "One model before and one after compression on the same examples. Newly wrong: right before, wrong after. Newly "
    "correct: wrong before, right after."
)


def _pages() -> dict[str, ViewerPage]:
    """Return the pages by URL path, in the order of the menu. Shared links hold the paths: they never change."""
    of_groups = tuple(name for name in ("groups", "attributes", "trends") if name in AUDITS)
    ours = {
        "overview": ViewerPage(
            "overview",
            "Verdict",
            ("variant",),
            heading="What compression forgets: {study}",
            definition=OVERVIEW,
            answers_first=True,
        ),
        "classes": ViewerPage("classes", "Classes", ("classes",), definition=CLASSES),
        # The images that one model changes against one are the flips that "compare" shows.
        "exemplars": ViewerPage("exemplars", "Examples", ("classes",), definition=PIES),
        "groups": ViewerPage("groups", "Groups", of_groups, definition=GROUPS),
        "corruptions": ViewerPage(
            "corruptions", "Corruptions", ("robustness",), definition=CORRUPTIONS, always=True
        ),
        "compare": ViewerPage(
            "compare", "Before and after", ("model_pair",), definition=FLIPS, always=True
        ),
    }
    pages = {**Registry("pages", ours), "more": ViewerPage("more", "More", always=True)}
    shown = {name for page in pages.values() for name in page.audits}
    audits = [*(name for name, audit in AUDITS.items() if audit.shown), *JOINT_AUDITS]
    others = [name for name in audits if name not in shown | pages.keys()]
    return pages | {name: _audit_page(name, "more") for name in others}


def _audit_page(name: str, under: str) -> ViewerPage:
    """Return the page of an audit that has no module of its own."""
    return ViewerPage("audit_page", declaration_of(name).title, (name,), under)


PAGES: Mapping[str, ViewerPage] = _pages()

WHO_PAYS = ("classes", "exemplars", "groups")
"""Pages that show whom compression harms, with their subpages. They open on the variant that harms a class most."""


def entries(data: StudyData | None) -> Iterator[str]:
    """Yield the paths of the menu: of pages with something to show, themselves or below them; all without a study."""
    for path, page in PAGES.items():
        if not page.under and (data is None or page.applies(data) or any(below(path, data))):
            yield path


def below(path: str, data: StudyData) -> list[str]:
    """Return the paths of the pages below an entry of the menu that have something to show."""
    return [name for name, page in PAGES.items() if page.under == path and page.applies(data)]
