"""The bar of a command that reads and judges: it says what is being done, and how much there is to do."""

from typing import Self

from tfaudit.cli.console import err
from tfaudit.population.progress import counting_bar


class Steps:
    """A bar of all steps of a command, drawn within its context and in a terminal only; it disappears at the end."""

    def __init__(self) -> None:
        self._bar = counting_bar(err, transient=True, disable=not err.is_terminal)
        self._task = self._bar.add_task("", total=None, state="Starting")
        self._planned = self._begun = 0

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def plan(self, number: int) -> None:
        """Take note of further steps."""
        self._planned += number
        self._bar.update(self._task, total=self._planned)

    def begin(self, what: str) -> None:
        """Begin a step, which ends the one before."""
        self._bar.update(self._task, completed=self._begun, state=what, refresh=True)
        self._begun += 1

    def advance(self, share: float) -> None:
        """Show the share of the current step that is done."""
        self._bar.update(self._task, completed=self._begun - 1 + share)
