"""The plan of a run: the jobs that are not yet done in a store."""

import re
from dataclasses import dataclass
from typing import Any, ClassVar

from tfaudit.errors import InputError
from tfaudit.store.store import Store
from tfaudit.study.conditions import Condition
from tfaudit.study.study import Study
from tfaudit.study.training import Training
from tfaudit.study.variants import Dense, Pruned, Quantized, Variant

Order = tuple[str, str, int]
"""A job as a worker receives it: "member", variant and number, or "condition", corruption and severity."""

CHECKPOINT = "checkpoint"
"""Name of a file in a member's folder: the last checkpoint of its training."""


def fork_name(step: int) -> str:
    """Return the name of a file in a dense member's folder: its state after a step, which forked members continue."""
    return f"fork-{step}"


def log_path(order: Order) -> str:
    """Return the path of the log of a job, relative to the study's directory.

    Example:
        >>> log_path(("member", "dense", 7)), log_path(("condition", "fog", 3))
        ('logs/dense-007.log', 'logs/fog-3.log')
    """
    kind, name, number = order
    return (
        f"logs/{f'{name}-{number:03d}' if kind == 'member' else Condition(name, number).split}.log"
    )


_NAME = r"(?!\.)[^/\\]+"
"""Pattern of the name of one file."""


def _is_one_of(path: str, *patterns: str) -> bool:
    """Return whether a path is that of a log, or matches one of some patterns."""
    return any(re.fullmatch(pattern, path) for pattern in (f"logs/{_NAME}", *patterns))


@dataclass(frozen=True)
class MemberJob:
    """A member to train or compress."""

    variant: str  # key of the variant
    member: int  # number of the member
    # Key of the variant whose member of the same number must be made first.
    parent: str | None = None
    # Steps of its training, by which the remaining time is estimated; at least 1.
    effort: int = 1
    # Number of the last step of its training, which a forked member begins late; 0 if there is none, or it is unknown.
    last_step: int = 0
    size: ClassVar[int] = 1  # number of members' predictions that the job produces

    @property
    def order(self) -> Order:
        """What a worker receives; no two jobs have the same order."""
        return "member", self.variant, self.member

    @property
    def needs(self) -> Order | None:
        """Order of the job that must be done first, if it is in the plan."""
        return None if self.parent is None else ("member", self.parent, self.member)

    @property
    def name(self) -> str:
        """Readable name."""
        return f"{self.variant}/{self.member:03d}"

    def left_after(self, step: int) -> float | None:
        """Return the share of the training that remains after a step, or None if it is unknown."""
        return min((self.last_step - step) / self.effort, 1) if self.last_step else None

    def makes(self, path: str) -> bool:
        """Return whether the job may make a file at a path, relative to the study's directory."""
        files = re.escape(Store.member_path(self.variant, self.member, "")) + _NAME
        predictions = re.escape(Store.prediction_path(self.variant, self.member))
        return _is_one_of(path, files, predictions, rf"examples/{_NAME}\.parquet")

    def save_failure(self, store: Store, traceback: str) -> None:
        """Record in the store that the job failed."""
        store.save_failure(self.variant, self.member, traceback)

    def delete_failure(self, store: Store) -> None:
        """Do nothing: the record of a finished member has replaced that of a failure."""


@dataclass(frozen=True)
class ConditionJob:
    """A condition under which to test members."""

    condition: Condition  # one of the study's
    size: int  # number of members not yet tested under it
    needs: ClassVar[None] = None

    @property
    def effort(self) -> int:
        """Number of tests."""
        return self.size

    @property
    def order(self) -> Order:
        """What a worker receives; no two jobs have the same order."""
        return "condition", *self.condition

    @property
    def name(self) -> str:
        """Readable name."""
        return self.condition.title

    def makes(self, path: str) -> bool:
        """Return whether the job may make a file at a path, relative to the study's directory."""
        split = re.escape(self.condition.split)
        predictions = rf"predictions/split={split}/variant={_NAME}/\d+\.parquet"
        return _is_one_of(path, predictions, rf"examples/{split}\.parquet")

    def save_failure(self, store: Store, traceback: str) -> None:
        """Record in the store that the job failed."""
        store.evaluations.save_failure(self.condition.split, traceback)

    def delete_failure(self, store: Store) -> None:
        """Delete the record of an earlier failure."""
        store.evaluations.delete_failure(self.condition.split)


Job = MemberJob | ConditionJob


@dataclass(frozen=True)
class Event:
    """A change of a job's state."""

    kind: str  # "started", "resumed", "advanced", "done", "retried" or "failed"
    job: Job  # the job
    error: str = ""  # the traceback of a job that was retried or failed
    # For "advanced" and "resumed": how many of the job's predictions are missing, or the share of a member's training
    # that remains.
    left: float = 0
    # For "done", the models of the processors: see `tfaudit.population.worker`.
    machine: dict[str, Any] | None = None


def planned_training(study: Study, variant: Variant) -> Training | str | None:
    """Return the training that makes a variant's members, None if they are made without one."""
    scratch = isinstance(variant, Dense) or (isinstance(variant, Pruned) and not variant.parent)
    if scratch:
        return study.planned_training
    again = isinstance(variant, Pruned) and variant.treatment != "one_shot"
    if again or (isinstance(variant, Quantized) and variant.remedies):
        return study.planned_retraining
    return None


def _last_steps(study: Study, examples: int) -> dict[str, int]:
    """Return the last step of each variant's training, 0 without one; 0 for all if a function trains some."""
    steps = {}
    for variant in study.all_variants:
        plan = planned_training(study, variant)
        if isinstance(plan, str):
            return dict.fromkeys(study.keys, 0)
        steps[variant.key] = plan.total_steps(examples) if plan else 0
    return steps


def member_jobs(store: Store, examples: int) -> list[MemberJob]:
    """Return the members to make, number by number, so that an interrupted run leaves smaller but whole populations.

    Args:
        store: the store.
        examples: number of training examples.
    """
    study = store.study
    last = _last_steps(study, examples)
    first = {variant.key: variant.dense_steps(last[variant.key]) for variant in study.forked}
    efforts = {key: max(steps - first.get(key, 0), 1) for key, steps in last.items()}
    jobs = [
        MemberJob(key, member, study.parent_of(key), efforts[key], last[key])
        for member in range(study.population)
        for key in study.keys
    ]
    return [job for job in jobs if not store.is_complete(job.variant, job.member)]


def condition_jobs(store: Store) -> list[ConditionJob]:
    """Return the conditions under which members have not been tested yet."""
    missing = {
        condition: missing_evaluations(store, condition) for condition in store.study.conditions
    }
    return [ConditionJob(condition, len(pairs)) for condition, pairs in missing.items() if pairs]


def missing_evaluations(store: Store, condition: Condition) -> list[tuple[str, int]]:
    """Return variants and members whose evaluation under a condition is missing, damaged or of another model."""
    try:
        examples = len(store.examples(condition.split, images=False, groups=False))
    except (
        InputError
    ):  # a benchmark set's examples are missing or damaged; they are written with its evaluations
        return store.evaluated_members()
    is_complete = store.evaluations.is_complete
    return [
        pair
        for pair in store.evaluated_members()
        if not is_complete(*pair, condition.split, examples)
    ]
