"""Progress of a run: a live bar in a terminal, plain lines elsewhere."""

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Self

import rich.progress
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)
from rich.table import Column
from rich.text import Text

from tfaudit.errors import require
from tfaudit.population.plan import Event, Job, Order
from tfaudit.runtime.user_functions import failure_line


class Display:
    """A display, used as a context manager around what it shows.

    Attributes:
        bar: bar of `rich` that it draws; none by default.
    """

    bar: Any = None

    def __enter__(self) -> Self:
        if self.bar is not None:
            self.bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.bar is not None:
            self.bar.stop()

    @classmethod
    def chosen(cls, progress: Self | str | None) -> Self:
        """Return a display itself, a silent one for None, and the usual one for "auto".

        >>> type(Progress.chosen(None)).__name__
        'Progress'
        """
        if progress is None:
            return cls()
        if isinstance(progress, cls):
            return progress
        require(progress == "auto", "progress", progress, "'auto', a display, or None")
        return cls.usual()

    @classmethod
    def usual(cls) -> Self:
        """Return the display for "auto"."""
        raise NotImplementedError


class Progress(Display):
    """A display of a run's events. The base class displays nothing."""

    @classmethod
    def usual(cls) -> Any:
        """Return a bar in a terminal, lines in a notebook or elsewhere."""
        console = Console()
        return PlainProgress(console) if console.is_jupyter else progress_for(console)

    def begin(
        self,
        jobs: Sequence[Job],
        total: int,
        *,
        what: str = "members",
        then: Mapping[str, int] = MappingProxyType({}),
    ) -> None:
        """Start a phase whose jobs make what is missing of the `total` members or evaluations.

        `then` holds the numbers of what later phases make, by name.
        """

    def update(self, event: Event) -> None:
        """Display an event."""


class RemainingTime:
    """Estimate of the time that jobs will take: their effort over the rate of a worker, shared by the workers.

    The first jobs are the longest: with the mean time of a job instead, a study of 45 short members and 3 long ones
    seems to take twenty times as long as it does.

    Args:
        jobs: the jobs; a job's effort may be in any unit that is the same for all.
    """

    def __init__(self, jobs: Sequence[Job]) -> None:
        self._left = {job.order: float(job.effort) for job in jobs}
        self._began: dict[Order, float] = {}
        self._any_trained = any(job.effort > job.size for job in jobs)
        self._effort = self._busy = 0.0
        self._workers = 0

    def update(self, event: Event) -> None:
        """Take note of an event."""
        now, job = time.monotonic(), event.job
        if event.kind == "started":
            self._began[job.order] = now
            self._workers = max(self._workers, len(self._began))
        elif event.kind in ("resumed", "advanced", "done"):
            left = job.effort * event.left / job.size
            # A member that is not trained counts as one step, and may take as long as a hundred.
            tells_rate = job.effort > job.size or not self._any_trained
            if tells_rate and event.kind != "resumed":  # an earlier run made its steps
                self._effort += self._left.get(job.order, 0) - left
                self._busy += now - self._began.get(job.order, now)
            self._began[job.order], self._left[job.order] = now, left
        if event.kind in ("retried", "failed", "done"):
            self._began.pop(job.order, None)
        if event.kind == "failed":
            self._left[job.order] = 0.0

    @property
    def seconds(self) -> float:
        """The estimate; 0 if nothing is left, or nothing is known."""
        if not self._effort or not self._busy:
            return 0.0
        now, rate = time.monotonic(), self._effort / self._busy
        running = {order: now - began for order, began in self._began.items()}
        needed = (left / rate - running.get(order, 0) for order, left in self._left.items())
        return sum(max(seconds, 0) for seconds in needed) / max(self._workers, 1)


class _CountingProgress(Progress):
    """Counts finished jobs and estimates the remaining time from the effort of jobs and the rate so far."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.total = 0  # members and evaluations of the phases so far

    def _show(self, event: Event | None) -> None:
        """Display an event that has been counted, or the beginning of a phase."""
        raise NotImplementedError

    def begin(
        self,
        jobs: Sequence[Job],
        total: int,
        *,
        what: str = "members",
        then: Mapping[str, int] = MappingProxyType({}),
    ) -> None:
        self.before, self.total = self.total, self.total + total
        self.whole = self.total + sum(then.values())
        self.what = what
        self.already = total - sum(job.size for job in jobs)
        self.counts: Counter[str] = Counter()
        self.running: dict[Order, str] = {}
        self.made: dict[Order, float] = {}
        self._remaining = RemainingTime(jobs)
        if then:
            phases = [f"{number:,} {name}" for name, number in {what: total, **then}.items()]
            self.console.print(f"{', then '.join(phases)}: {self.whole:,} in all")
        if self.already:
            self.console.print(f"{self.already} of {total} {what} exist already")
        self._show(None)

    def update(self, event: Event) -> None:
        self._count(event)
        self._show(event)

    def _count(self, event: Event) -> None:
        job = event.job
        self._remaining.update(event)
        if event.kind in ("resumed", "advanced", "done"):
            self.made[job.order] = job.size - event.left
        if event.kind in ("started", "resumed", "advanced"):
            self.running[job.order] = job.name + self._made_within(job)
            return
        self.running.pop(job.order, None)
        self.counts[event.kind] += 1
        if event.kind != "done":
            reason = failure_line(event.error)
            verb = "failed, trying again" if event.kind == "retried" else "failed"
            kind = job.order[0]
            self.console.print(
                f"{kind} {job.name} {verb}: {reason}", style="yellow", markup=False, highlight=False
            )

    def _made_within(self, job: Job) -> str:
        """Tell how many of a job's evaluations exist, or how much of a member's training is done."""
        made = self.made.get(job.order, 0)
        if job.size > 1:
            return f", {made:.0f} of {job.size}"
        return f", {100 * made:.0f} % trained" if made else ""

    @property
    def done(self) -> int:
        """Number of members and evaluations that exist, those of earlier phases included."""
        return self.before + self.already + sum(map(int, self.made.values()))

    @property
    def left(self) -> str:
        """Estimate of the remaining time of the phase; empty before the first is made and after the last."""
        seconds = self._remaining.seconds
        return f"about {duration(seconds)} left" if seconds else ""


class PlainProgress(_CountingProgress):
    """A line for every job that is done, for every checkpoint and where a training goes on, for logs and pipes."""

    def _show(self, event: Event | None) -> None:
        if event and event.kind in ("resumed", "advanced") and event.job.size == 1:
            self._print(self.running[event.job.order], self.left)
        if event and event.kind == "done":
            failed = f"{self.counts['failed']} failed" if self.counts["failed"] else ""
            self._print(f"[{self.done}/{self.whole}] {event.job.name} done", failed, self.left)

    def _print(self, *parts: str) -> None:
        """Print the parts that are not empty in one line, however long."""
        text = ", ".join(filter(None, parts))
        self.console.print(text, markup=False, highlight=False, soft_wrap=True)


class _State(TextColumn):
    """The one column that gives way where a line is too long for the terminal."""

    def render(self, task: rich.progress.Task) -> Text:
        text = super().render(task)
        text.no_wrap, text.overflow = True, "ellipsis"
        return text


def counting_bar(
    console: Console, *, transient: bool = False, disable: bool = False
) -> rich.progress.Progress:
    """Return a bar with a description, the count, the time elapsed and the field `state` of its task, in one line.

    What does not fit the terminal is cut off at the end.

    Args:
        console: console to draw on.
        transient: whether the bar disappears at its end.
        disable: whether nothing is drawn.
    """
    return rich.progress.Progress(
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=15, table_column=Column(no_wrap=True)),
        MofNCompleteColumn(table_column=Column(no_wrap=True)),
        TimeElapsedColumn(table_column=Column(no_wrap=True)),
        _State("{task.fields[state]}", markup=False, table_column=Column()),
        console=console,
        transient=transient,
        disable=disable,
    )


class LiveProgress(_CountingProgress):
    """A bar with the members or evaluations done, the jobs running and failed, and the remaining time."""

    def __init__(self, console: Console) -> None:
        super().__init__(console)
        self.bar = counting_bar(console)
        self._task = self.bar.add_task("members", total=None, state="starting")

    def _show(self, event: Event | None) -> None:
        names = "; ".join(self.running.values())
        running = f"{len(self.running)} running"
        if names:
            running += f" ({names})"
        failed = f"{self.counts['failed']} failed" if self.counts["failed"] else ""
        state = " · ".join(filter(None, [failed, self.left, running]))
        self.bar.update(
            self._task,
            description=self.what,
            total=self.whole,
            completed=self.done,
            state=state,
            refresh=True,
        )


def progress_for(console: Console) -> Progress:
    """Return a live bar for a terminal, plain lines for anything else."""
    return LiveProgress(console) if console.is_terminal else PlainProgress(console)


def duration(seconds: float) -> str:
    """Return a duration in words.

    >>> duration(3), duration(75), duration(7260)
    ('3 s', '1 min 15 s', '2 h 01 min')
    """
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return (
        f"{hours} h {minutes:02d} min"
        if hours
        else f"{minutes} min {seconds:02d} s"
        if minutes
        else f"{seconds} s"
    )
