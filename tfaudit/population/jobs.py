"""What there is to do in a study, and what happens to it while it is done."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from tfaudit.study.conditions import Condition

__all__ = ["ConditionJob", "Event", "Job", "MemberJob", "Order"]

Order = tuple[str, str, int]
"""What a worker is told: "member" with variant and number, or "condition" with corruption and severity."""


class Job(Protocol):
    """A piece of work for one worker."""

    @property
    def order(self) -> Order:
        """What the worker is told; no two jobs have one order."""

    @property
    def needs(self) -> Order | None:
        """The order that must have been carried out first, where it is among the jobs."""

    @property
    def name(self) -> str:
        """The job for people."""

    @property
    def size(self) -> int:
        """How many predictions of a member it gives."""


@dataclass(frozen=True)
class MemberJob:
    """One member to make: of which variant, its number, and the variant whose same member must be there first."""

    variant: str
    member: int
    parent: str | None = None

    @property
    def order(self) -> Order:
        """What the worker is told."""
        return "member", self.variant, self.member

    @property
    def needs(self) -> Order | None:
        """The order of the parent."""
        return None if self.parent is None else ("member", self.parent, self.member)

    @property
    def name(self) -> str:
        """The job for people."""
        return f"{self.variant}/{self.member:03d}"

    @property
    def size(self) -> int:
        """One."""
        return 1


@dataclass(frozen=True)
class ConditionJob:
    """A condition to evaluate, with so many members that have not been evaluated there."""

    condition: Condition
    size: int

    @property
    def order(self) -> Order:
        """What the worker is told."""
        return "condition", *self.condition

    @property
    def needs(self) -> None:
        """Nothing: the members are there."""
        return

    @property
    def name(self) -> str:
        """The job for people."""
        return self.condition.title


@dataclass(frozen=True)
class Event:
    """What happened to a job.

    Attributes:
        kind: "started", "advanced" (then `left` says how many of its predictions are missing), "done", "retried" or
            "failed".
        job: which one.
        error: where it was retried or failed: the traceback.
        left: predictions that are missing; 0 where it is done.
    """

    kind: str
    job: Job
    error: str = ""
    left: int = 0
