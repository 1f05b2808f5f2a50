"""Progress of a search: a live bar in a terminal, a line per candidate elsewhere."""

from __future__ import annotations

import math
import time
from collections import defaultdict
from collections.abc import Sequence
from statistics import fmean
from typing import Any

from rich.console import Console

from tfaudit.audits.gate.checks import PASS
from tfaudit.extensions.search.candidates import Candidate
from tfaudit.extensions.search.smallest_file import NOT_TRIED
from tfaudit.extensions.search.trials import Trial
from tfaudit.population.progress import Display, counting_bar, duration

Task = tuple[str, str]
"""Slowest step in making a candidate, and a name; only the first candidate with a name takes this time."""

CONVERTING, MEASURING, TRAINING = "converting", "measuring the layers for", "fine-tuning"


class SearchProgress(Display):
    """A display of a search. The base class displays nothing."""

    @classmethod
    def usual(cls) -> Any:
        """Return lines, with a bar in a terminal."""
        return PrintedProgress(Console())

    def begin(self, plan: Sequence[Candidate], ends: float | None = None) -> None:
        """Take the plan of the search, and the time at which the budget ends, as `time.monotonic` counts."""

    def doing(self, what: str) -> None:
        """Take note of what is done before the first and after the last candidate."""

    def start(self, candidate: Candidate, task: Task) -> None:
        """Take note that a candidate is being made, and of its slowest step."""

    def end(self, candidate: Candidate, trial: Trial, rest: Sequence[Task] = ()) -> None:
        """Take note of a candidate's outcome, and of the slowest steps of candidates that may still be tried."""

    def judged(self, candidate: Candidate, examples: int) -> None:
        """Take note of a candidate that passes on the examples that judge it."""


class PrintedProgress(SearchProgress):
    """Display that prints a line per tried candidate and the current step; outside a terminal, slow steps only."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self.bar = counting_bar(console, transient=True, disable=not console.is_terminal)
        self._task = self.bar.add_task("candidates", total=None, state="")
        self._ended, self._total, self._left_out = 0, 0, 0
        self._ends: float | None = None
        self._seconds: dict[str, list[float]] = defaultdict(list)
        self._started: tuple[float, str] | None = None
        self._time_left = ""
        self._best, self._best_size = "", math.inf

    def begin(self, plan: Sequence[Candidate], ends: float | None = None) -> None:
        """Print the number of candidates."""
        self._total, self._ends = len(plan), ends
        models = {candidate.preparation.key for candidate in plan} - {""}
        trained = f", {len(models)} models to fine-tune" if models else ""
        self._print(
            f"At most {len(plan)} candidates{trained}; those that cannot be smaller than one that passes are left out."
        )
        self.bar.update(self._task, total=len(plan))

    def doing(self, what: str) -> None:
        """Show it in a terminal."""
        self._show(what)

    def start(self, candidate: Candidate, task: Task) -> None:
        """Show the current step."""
        verb, _ = task
        self._started = time.monotonic(), verb
        self._tell_left_out()
        doing = f"{verb} {candidate.title}"
        self._show(doing)
        if verb != CONVERTING and not self._console.is_terminal:
            self._print(f"[{self._ended + 1}/{self._total}] {doing}")

    def end(self, candidate: Candidate, trial: Trial, rest: Sequence[Task] = ()) -> None:
        """Print the outcome of a candidate that was tried."""
        self._ended += 1
        now = time.monotonic()
        started, self._started = self._started, None
        if started is not None:
            self._seconds[started[1]].append(now - started[0])
        self._time_left = left = self._left(rest, now)
        if trial.outcome == PASS and trial.size < self._best_size:
            self._best_size = trial.size
            self._best = f"smallest that passes so far: {candidate.title}, {trial.size:,} bytes"
        self._show()
        left_out = trial.outcome == NOT_TRIED
        if left_out and started is None:
            self._left_out += 1
            if self._ended == self._total:
                self._tell_left_out()
            return
        self._tell_left_out(1)
        reason = trial.reason.rstrip(".")
        said = f"left out. {reason}" if left_out else trial.outcome
        if reason and not left_out:
            said += f" ({reason})"
        parts = [f"[{self._ended}/{self._total}] {candidate.title}: {said}"]
        if trial.content:
            parts.append(f"{trial.size:,} bytes")
        if started is None:
            parts.append("made earlier")
        elif left and not self._console.is_terminal:
            parts.append(left)
        self._print(", ".join(parts))

    def judged(self, candidate: Candidate, examples: int) -> None:
        """Print that it passes: whatever the search finds later, this file may ship."""
        self._print(f"{candidate.title} passes on the {examples:,} examples that judge it.")

    def _show(self, doing: str = "") -> None:
        """Draw the bar with the current step, the smallest file that passes and the time left."""
        state = " · ".join(filter(None, [doing, self._best, self._time_left]))
        self.bar.update(self._task, completed=self._ended, state=state, refresh=True)

    def _tell_left_out(self, after: int = 0) -> None:
        """Print how many candidates were left out since the last line, `after` candidates ago."""
        if self._left_out:
            self._print(f"[{self._ended - after}/{self._total}] {self._left_out} left out")
        self._left_out = 0

    def _print(self, line: str) -> None:
        self._console.print(line, soft_wrap=True)

    def _left(self, rest: Sequence[Task], now: float) -> str:
        """Return the time left: for all remaining candidates, or in the budget; empty if both are unknown."""
        means = {verb: fmean(times) for verb, times in self._seconds.items()}
        # a trained model has several candidates, and only the first one includes the training
        longer = [verb for verb, _ in set(rest) if verb != CONVERTING]
        bounds = [] if self._ends is None else [self._ends - now]
        if means.keys() >= {CONVERTING, *longer}:
            quick = means[CONVERTING]
            bounds.append(len(rest) * quick + sum(max(means[verb] - quick, 0) for verb in longer))
        left = min(bounds, default=0.0) if rest else 0.0
        return f"at most about {duration(left)} left" if left >= 1 else ""
