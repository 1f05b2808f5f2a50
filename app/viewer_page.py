"""A page of the viewer."""

import dataclasses

from tfaudit.analysis.audits import AUDITS
from tfaudit.analysis.joint_audits import JOINT_AUDITS, declaration_of
from tfaudit.analysis.study_data import StudyData


@dataclasses.dataclass(frozen=True)
class ViewerPage:
    """A page of the viewer. It has no icon: for a page's icon the browser would ask a server elsewhere."""

    # Module, of this package unless its whole name is given, whose `page` takes the `StudyAudit` and draws the page.
    module: str
    # Title in the menu.
    title: str
    # Audits it shows; an audit with a question that no page shows gets a page of its own.
    audits: tuple[str, ...] = ()
    # Path of the entry of the menu that leads to it; empty for an entry of the menu.
    under: str = ""
    # Heading above the page; by default the title. `{study}` is the name of the study.
    heading: str = ""
    # What its words mean, in a line below the heading.
    definition: str = ""
    # Whether the definition stands behind a "?", so that the answer fits one screen.
    answers_first: bool = False
    # Whether it is in every menu: where a study allows none of its audits, it says what to run.
    always: bool = False

    @property
    def question(self) -> str:
        """What the page answers."""
        return declaration_of(self.audits[0]).question if self.audits else self.title

    def applies(self, data: StudyData) -> bool:
        """Return whether the study has something for the page to show; a link opens it anyway."""
        if self.always or not self.audits or not data.compressed_keys:
            return True
        return any(_applies(name, data) for name in self.audits)


def _applies(name: str, data: StudyData) -> bool:
    if name in JOINT_AUDITS:
        return bool(JOINT_AUDITS[name].applies(data))
    return any(AUDITS[name].applies(data, key) for key in data.compressed_keys)
