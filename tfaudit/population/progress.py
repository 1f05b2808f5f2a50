"""What a person sees while a population is made: a live bar in a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from collections import Counter
from types import TracebackType
from typing import Protocol, Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from tfaudit.population.local import Event

__all__ = ["LiveProgress", "NoProgress", "PlainProgress", "Reporter", "progress_for"]


class Reporter(Protocol):
    """Takes the events of a run. Used as a context manager around it."""

    def __enter__(self) -> Self: ...

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None: ...

    def begin(self, total: int, already: int) -> None:
        """So many members are wanted, so many of them are there already."""

    def take(self, event: Event) -> None:
        """Something happened to a member."""


class NoProgress:
    """Says nothing: the library's default."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def begin(self, total: int, already: int) -> None:
        """Does nothing."""

    def take(self, event: Event) -> None:
        """Does nothing."""


class _Counting(NoProgress):
    """Counts members and estimates the time left from the rate so far."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.counts: Counter[str] = Counter()
        self.running: list[str] = []
        self.total = self.done = 0
        self.began = time.monotonic()

    def begin(self, total: int, already: int) -> None:
        self.total, self.done, self.began = total, already, time.monotonic()
        if already:
            self.console.print(f"{already} of {total} members are there already")

    def take(self, event: Event) -> None:
        name = f"{event.job.variant}/{event.job.member:03d}"
        if event.kind == "started":
            self.running.append(name)
            return
        if name in self.running:
            self.running.remove(name)
        self.counts[event.kind] += 1
        if event.kind == "done":
            self.done += 1
        else:
            reason = event.error.strip().splitlines()[-1]
            verb = "failed, trying once more" if event.kind == "retried" else "failed"
            self.console.print(f"member {name} {verb}: {reason}", style="yellow", markup=False, highlight=False)

    @property
    def left(self) -> str:
        """How long it may still take; empty before the first member and after the last."""
        made, missing = self.counts["done"], self.total - self.done - self.counts["failed"]
        if not made or not missing:
            return ""
        return f"about {_duration((time.monotonic() - self.began) / made * missing)} left"


class PlainProgress(_Counting):
    """One line a member, for logs and pipes."""

    def take(self, event: Event) -> None:
        """Counts, and prints a line where a member is done."""
        super().take(event)
        if event.kind == "done":
            name = f"{event.job.variant}/{event.job.member:03d}"
            failed = f"{self.counts['failed']} failed" if self.counts["failed"] else ""
            parts = [f"[{self.done}/{self.total}] {name} done", failed, self.left]
            self.console.print(", ".join(filter(None, parts)), markup=False, highlight=False)


class LiveProgress(_Counting):
    """A bar with members done, running, failed and the time left."""

    def __init__(self, console: Console) -> None:
        super().__init__(console)
        columns = (
            SpinnerColumn(),
            TextColumn("members"),
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

    def begin(self, total: int, already: int) -> None:
        """Sets the bar's length."""
        super().begin(total, already)
        self._show()

    def take(self, event: Event) -> None:
        """Counts and moves the bar."""
        super().take(event)
        self._show()

    def _show(self) -> None:
        running = f"{len(self.running)} running" + f" ({', '.join(self.running)})" * bool(self.running)
        parts = [running, f"{self.counts['failed']} failed", self.left]
        state = " · ".join(part for part in parts if part)
        self._bar.update(self._task, total=self.total, completed=self.done, state=state, refresh=True)


def progress_for(console: Console) -> Reporter:
    """The live bar where there is a terminal, else plain lines."""
    return LiveProgress(console) if console.is_terminal else PlainProgress(console)


def _duration(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min {seconds:02d} s" if minutes else f"{seconds} s"
