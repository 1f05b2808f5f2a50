"""What is still to do in a store."""

from __future__ import annotations

from tfaudit.errors import InputError
from tfaudit.population.jobs import ConditionJob, MemberJob
from tfaudit.store.store import Store
from tfaudit.study.conditions import Condition

__all__ = ["condition_jobs", "evaluated_members", "member_jobs", "missing_evaluations"]


def member_jobs(store: Store) -> list[MemberJob]:
    """The members to make, number by number, so that a run cut short holds smaller but whole populations."""
    study = store.study
    jobs = [MemberJob(v.key, member, v.parent) for member in range(study.population) for v in study.all_variants]
    return [job for job in jobs if not store.is_complete(job.variant, job.member)]


def condition_jobs(store: Store) -> list[ConditionJob]:
    """The conditions under which members that are to be evaluated have not been."""
    missing = {condition: missing_evaluations(store, condition) for condition in store.study.conditions}
    return [ConditionJob(condition, len(pairs)) for condition, pairs in missing.items() if pairs]


def missing_evaluations(store: Store, condition: Condition) -> list[tuple[str, int]]:
    """Variants and members whose evaluation under a condition is not there, is damaged or of another model."""
    try:
        examples = len(store.examples(condition.split, images=False, groups=False))
    except InputError:  # a benchmark set's own examples are missing or damaged: they are written with the evaluations
        return evaluated_members(store)
    return [
        pair for pair in evaluated_members(store) if not store.evaluations.is_complete(*pair, condition.split, examples)
    ]


def evaluated_members(store: Store) -> list[tuple[str, int]]:
    """Variants and members, as far as they are complete, that are to be evaluated under every condition."""
    study = store.study
    keys = [variant.key for variant in study.all_variants]
    if study.corrupted_variants is not None:
        keys = [key for key in keys if key in (keys[0], *study.corrupted_variants)]
    pairs = [(key, member) for key in keys for member in store.members(key)]
    return [(key, member) for key, member in pairs if member < (study.corrupted_members or study.population)]
