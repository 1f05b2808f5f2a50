"""Progress of a search: a live bar in a terminal, a line per candidate elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Self

from tfaudit.errors import require
from tfaudit.population.progress import duration
from tfaudit.search.smallest_file import NOT_TRIED

if TYPE_CHECKING:
    from rich.console import Console

    from tfaudit.search.candidates import Candidate

Task = tuple[str, str]
"""What takes most of the time to make a candidate, and a name: only the first candidate of a name takes that time."""

CONVERTING, MEASURING, TRAINING = "converting", "measuring the layers for", "fine-tuning"


class SearchProgress:
    """A display of a search, used as a context manager around it. The base class displays nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def begin(
        self,
        plan: Sequence[Candidate],
        task: Callable[[Candidate], Task],
        ends: float | None = None,
    ) -> None:
        """Take the plan of the search, what a candidate takes, and when the budget ends, by `time.monotonic`."""

    def start(self, candidate: Candidate) -> None:
        """Take note that a candidate is being made."""

    def end(
        self,
        candidate: Candidate,
        outcome: str,
        size: int,
        reason: str = "",
        rest: Sequence[Candidate] = (),
    ) -> None:
        """Take note of the outcome of a candidate, of its bytes, why it was left out, and what may still be tried."""


class PrintedProgress(SearchProgress):
    """Prints a line per candidate that is tried, and what is being made; outside a terminal only what takes long."""

    def __init__(self, console: Console) -> None:
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            SpinnerColumn,
            TextColumn,
            TimeElapsedColumn,
        )

        self._console = console
        columns = (
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=20),
        )
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
        self._task_of: Callable[[Candidate], Task] = lambda candidate: (CONVERTING, candidate.key)
        self._ends: float | None = None
        self._seconds: dict[str, list[float]] = {CONVERTING: [], MEASURING: [], TRAINING: []}
        self._started: tuple[float, str] | None = None

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def begin(
        self,
        plan: Sequence[Candidate],
        task: Callable[[Candidate], Task],
        ends: float | None = None,
    ) -> None:
        """Print how many candidates there are."""
        self._plan, self._task_of, self._ends = plan, task, ends
        models = {candidate.preparation.key for candidate in plan} - {""}
        trained = f", {len(models)} models to fine-tune" if models else ""
        self._console.print(
            f"At most {len(plan)} candidates{trained}; those that cannot be smaller than one that passes are left out.",
            soft_wrap=True,
        )
        self._bar.update(self._task, total=len(plan))

    def start(self, candidate: Candidate) -> None:
        """Show what is being made."""
        verb, _ = self._task_of(candidate)
        self._started = time.monotonic(), verb
        self._bar.update(self._task, description=f"{verb} {candidate.title}", refresh=True)
        if verb != CONVERTING and not self._console.is_terminal:
            self._console.print(
                f"[{self._ended + 1}/{len(self._plan)}] {verb} {candidate.title}", soft_wrap=True
            )

    def end(
        self,
        candidate: Candidate,
        outcome: str,
        size: int,
        reason: str = "",
        rest: Sequence[Candidate] = (),
    ) -> None:
        """Print the outcome of a candidate that was tried."""
        self._ended += 1
        made = self._started
        now = time.monotonic()
        if made is not None:
            self._seconds[made[1]].append(now - made[0])
            self._started = None
        left = self._left(rest, now)
        self._bar.update(self._task, completed=self._ended, left=left, refresh=True)
        if outcome == NOT_TRIED and made is None:
            return
        said = f"left out. {reason.rstrip('.')}" if outcome == NOT_TRIED else outcome
        parts = [f"[{self._ended}/{len(self._plan)}] {candidate.title}: {said}"]
        if size:
            parts.append(f"{size:,} bytes")
        if made is None:
            parts.append("made earlier")
        elif left and not self._console.is_terminal:
            parts.append(left)
        self._console.print(", ".join(parts), soft_wrap=True)

    def _left(self, rest: Sequence[Candidate], now: float) -> str:
        """Return how long the rest takes if nothing of it is left out, or the budget; empty where both are unknown."""
        means = {verb: sum(times) / len(times) for verb, times in self._seconds.items() if times}
        tasks = [self._task_of(candidate) for candidate in rest]
        # of one model that is trained there are several candidates, the first of which includes its training
        first = {task for task in tasks if task[0] != CONVERTING}
        bounds = [] if self._ends is None else [max(self._ends - now, 0.0)]
        if CONVERTING in means and all(verb in means for verb, _ in first):
            quick = means[CONVERTING]
            bounds.append(
                len(tasks) * quick + sum(max(means[verb] - quick, 0) for verb, _ in first)
            )
        left = min(bounds, default=0.0) if rest else 0.0
        return f"at most about {duration(left)} left" if left >= 1 else ""


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
