"""What a person sees while a study runs: a live bar in a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from collections import Counter
from types import TracebackType
from typing import Protocol, Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from tfaudit.population.jobs import Event, Order

__all__ = ["LiveProgress", "NoProgress", "PlainProgress", "Reporter", "progress_for"]


class Reporter(Protocol):
    """Takes the events of a run. Used as a context manager around it."""

    def __enter__(self) -> Self: ...

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None: ...

    def begin(self, total: int, already: int, *, what: str = "members") -> None:
        """So many members or evaluations are wanted, so many of them are there already."""

    def take(self, event: Event) -> None:
        """Something happened to a job."""


class NoProgress:
    """Says nothing: the library's default."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def begin(self, total: int, already: int, *, what: str = "members") -> None:
        """Does nothing."""

    def take(self, event: Event) -> None:
        """Does nothing."""


class _Counting(NoProgress):
    """Counts what is made and estimates the time left from the rate so far."""

    def __init__(self, console: Console) -> None:
        self.console = console
        _Counting.begin(self, 0, 0)

    def begin(self, total: int, already: int, *, what: str = "members") -> None:
        self.total, self.already, self.what, self.began = total, already, what, time.monotonic()
        self.counts: Counter[str] = Counter()
        self.running: dict[Order, str] = {}
        self.made: dict[Order, int] = {}
        self.given_up = 0
        if already:
            self.console.print(f"{already} of {total} {what} are there already")

    def take(self, event: Event) -> None:
        job = event.job
        if event.kind in ("advanced", "done"):
            self.made[job.order] = job.size - event.left
        if event.kind in ("started", "advanced"):
            within = f", {self.made.get(job.order, 0)} of {job.size}" if job.size > 1 else ""
            self.running[job.order] = job.name + within
            return
        self.running.pop(job.order, None)
        self.counts[event.kind] += 1
        if event.kind == "failed":
            self.given_up += job.size - self.made.get(job.order, 0)
        if event.kind != "done":
            reason = event.error.strip().splitlines()[-1]
            verb = "failed, trying once more" if event.kind == "retried" else "failed"
            kind = job.order[0]
            self.console.print(f"{kind} {job.name} {verb}: {reason}", style="yellow", markup=False, highlight=False)

    @property
    def done(self) -> int:
        """How many are there."""
        return self.already + sum(self.made.values())

    @property
    def left(self) -> str:
        """How long it may still take; empty before the first is made and after the last."""
        made, missing = sum(self.made.values()), self.total - self.done - self.given_up
        if not made or not missing:
            return ""
        return f"about {_duration((time.monotonic() - self.began) / made * missing)} left"


class PlainProgress(_Counting):
    """One line a job, for logs and pipes."""

    def take(self, event: Event) -> None:
        """Counts, and prints a line where a job is done."""
        super().take(event)
        if event.kind == "done":
            failed = f"{self.counts['failed']} failed" if self.counts["failed"] else ""
            parts = [f"[{self.done}/{self.total}] {event.job.name} done", failed, self.left]
            self.console.print(", ".join(filter(None, parts)), markup=False, highlight=False)


class LiveProgress(_Counting):
    """A bar with members or evaluations done, jobs running and failed, and the time left."""

    def __init__(self, console: Console) -> None:
        super().__init__(console)
        columns = (
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(bar_width=20),
            MofNCompleteColumn(),
            TextColumn("{task.fields[state]}"),
            TimeElapsedColumn(),
        )
        self._bar = Progress(*columns, console=console)
        self._task = self._bar.add_task("members", total=None, state="starting")

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def begin(self, total: int, already: int, *, what: str = "members") -> None:
        """Sets the bar's length."""
        super().begin(total, already, what=what)
        self._show()

    def take(self, event: Event) -> None:
        """Counts and moves the bar."""
        super().take(event)
        self._show()

    def _show(self) -> None:
        names = "; ".join(self.running.values())
        running = f"{len(self.running)} running" + f" ({names})" * bool(names)
        parts = [running, f"{self.counts['failed']} failed", self.left]
        state = " · ".join(part for part in parts if part)
        self._bar.update(
            self._task, description=self.what, total=self.total, completed=self.done, state=state, refresh=True
        )


def progress_for(console: Console) -> Reporter:
    """The live bar where there is a terminal, else plain lines."""
    return LiveProgress(console) if console.is_terminal else PlainProgress(console)


def _duration(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min {seconds:02d} s" if minutes else f"{seconds} s"
