"""A page of the viewer."""

import dataclasses
from collections.abc import Callable

from tfaudit.analysis.audits import AUDITS
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
    # What it answers; by default the question of its first audit.
    asks: str = ""
    # Whether a study has what the page shows beside the results of its audits.
    needs: Callable[[StudyData], object] = lambda data: True

    @property
    def question(self) -> str:
        """What the page answers."""
        shown = AUDITS[self.audits[0]].shown if self.audits else None
        return self.asks or (shown.question if shown else self.title)

    def applies(self, data: StudyData) -> bool:
        """Return whether the study has something for the page to show; a link opens it anyway."""
        keys = data.compressed_keys
        if keys and not self.needs(data):
            return False
        anything = self.always or not self.audits or not keys
        return anything or any(
            AUDITS[name].applies(data, key) for name in self.audits for key in keys
        )
