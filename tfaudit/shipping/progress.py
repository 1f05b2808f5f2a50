"""Progress of a search: a live bar in a terminal, a line per candidate elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Self

from tfaudit.errors import require
from tfaudit.population.progress import duration
from tfaudit.shipping.smallest_file import NOT_TRIED

if TYPE_CHECKING:
    from rich.console import Console

    from tfaudit.shipping.candidates import Candidate
    from tfaudit.study.variants import Pruned


class SearchProgress:
    """A display of a search, used as a context manager around it. The base class displays nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def begin(self, plan: Sequence[Candidate], is_trained: Callable[[Pruned | None], bool]) -> None:
        """Take the plan of the search, and which pruned models exist already."""

    def start(self, candidate: Candidate, *, training: bool) -> None:
        """Take note that a candidate is being made, and whether a model is trained for it."""

    def end(self, candidate: Candidate, outcome: str, size: int, reason: str = "") -> None:
        """Take note of the outcome of a candidate, of its bytes, and why it was left out."""


class PrintedProgress(SearchProgress):
    """Prints a line per candidate that is tried, and below them, in a terminal, what is being made."""

    def __init__(self, console: Console) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        self._console = console
        columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), BarColumn(bar_width=20))
        self._bar = Progress(
            *columns,
            MofNCompleteColumn(),
            TextColumn("{task.fields[left]}", markup=False),
            TimeElapsedColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._task = self._bar.add_task("candidates", total=None, left="")
        self._ended = 0
        self._plan: Sequence[Candidate] = ()
        self._untrained: set[Pruned] = set()
        self._seconds: dict[bool, list[float]] = {False: [], True: []}  # by whether a model was trained
        self._started: tuple[float, bool] | None = None

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def begin(self, plan: Sequence[Candidate], is_trained: Callable[[Pruned | None], bool]) -> None:
        """Print how many candidates there are."""
        models = {candidate.pruned for candidate in plan if candidate.pruned is not None}
        self._plan, self._untrained = plan, {pruned for pruned in models if not is_trained(pruned)}
        trained = f", {len(models)} models to prune and fine-tune" if models else ""
        self._console.print(
            f"{len(plan)} candidates{trained}; those larger than one that passes are left out.", soft_wrap=True
        )
        self._bar.update(self._task, total=len(plan))

    def start(self, candidate: Candidate, *, training: bool) -> None:
        """Show what is being made."""
        self._started = time.monotonic(), training
        verb = "fine-tuning" if training else "converting"
        self._bar.update(self._task, description=f"{verb} {candidate.title}", refresh=True)

    def end(self, candidate: Candidate, outcome: str, size: int, reason: str = "") -> None:
        """Print the outcome of a candidate that was tried."""
        self._ended += 1
        made = self._started
        if made is not None:
            self._seconds[made[1]].append(time.monotonic() - made[0])
            self._untrained.discard(candidate.pruned)  # type: ignore[arg-type]
            self._started = None
        left = self._left()
        self._bar.update(self._task, completed=self._ended, left=left, refresh=True)
        if outcome == NOT_TRIED and made is None:
            return
        said = f"left out. {reason.rstrip('.')}" if outcome == NOT_TRIED else outcome
        parts = [f"[{self._ended}/{len(self._plan)}] {candidate.title}: {said}"]
        parts += [f"{size:,} bytes"] * bool(size) + ["made earlier"] * (made is None)
        parts += [left] * (bool(left) and made is not None and not self._console.is_terminal)
        self._console.print(", ".join(parts), soft_wrap=True)

    def _left(self) -> str:
        """Return how long the rest takes if nothing is left out; empty where that is unknown."""
        rest = len(self._plan) - self._ended
        quick, trained = (sum(times) / len(times) if times else None for times in self._seconds.values())
        if not rest or quick is None or (self._untrained and trained is None):
            return ""
        # a model that is trained gives several candidates, the first of which includes its training
        seconds = rest * quick + len(self._untrained) * max((trained or 0) - quick, 0)
        return f"at most about {duration(seconds)} left"


def chosen_progress(progress: SearchProgress | str | None) -> SearchProgress:
    """Return a display itself, none for None, and lines or a bar for "auto".

    >>> type(chosen_progress(None)).__name__
    'SearchProgress'
    """
    if progress is None or isinstance(progress, SearchProgress):
        return progress or SearchProgress()
    require(progress == "auto", "progress", progress, "'auto', a display, or None")
    from rich.console import Console

    return PrintedProgress(Console())
