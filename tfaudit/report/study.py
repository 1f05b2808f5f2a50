"""From a study's directory to its audit."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping

import pandas as pd

from tfaudit.audit.summary import Summary, summary
from tfaudit.audit.wording import listed
from tfaudit.errors import InputError
from tfaudit.predictions import Predictions
from tfaudit.store import Store

__all__ = ["read_study"]


def read_study(
    store: Store, split: str = "test", *, alpha: float = 0.05, permutations: int = 1000, seed: int = 0
) -> Summary:
    """Audits every variant that has members; the notes say what is missing.

    Args:
        store: of the study.
        split: whose predictions to read.
        alpha: level of the tests.
        permutations: how many assignments of members to count at most, for the figures by chance; 0 for none.
        seed: of random assignments.

    Raises:
        InputError: no such split, damaged files, or no dense member to compare with.
    """
    if split not in store.splits:
        raise InputError(
            f"split: {split!r}, predicted in {store.directory} are {', '.join(store.splits) or 'none yet'}"
        )
    if "dense" not in store.variants:
        raise InputError(
            f"store: {store.directory} has no complete dense member to compare with; "
            "`tfaudit run` goes on where it stopped"
        )
    audit = summary(
        _Populations(store, split),
        _descriptions(store),
        alpha=alpha,
        permutations=permutations,
        seed=seed,
        paired=[key for key in store.variants if store.study.variant(key).parent is not None],
    )
    return dataclasses.replace(audit, notes=(*_missing(store), *_dependent(store, audit), *audit.notes, *_tied(audit)))


class _Populations(Mapping[str, Predictions]):
    """Read when asked for and not kept, so that memory does not grow with the number of variants."""

    def __init__(self, store: Store, split: str) -> None:
        self.store, self.split, self.keys_there = store, split, store.variants

    def __getitem__(self, key: str) -> Predictions:
        return self.store.predictions(key, self.split)

    def __contains__(self, key: object) -> bool:
        return key in self.keys_there

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys_there)

    def __len__(self) -> int:
        return len(self.keys_there)


def _descriptions(store: Store) -> pd.DataFrame:
    """Titles, and the means over members of what `member.json` records."""
    rows = {}
    for key in store.variants:
        records = pd.DataFrame([store.record(key, member) for member in store.members(key)])
        facts = records.reindex(columns=["sparsity", "bytes", "gzipped_bytes"]).apply(pd.to_numeric).mean()
        variant = store.study.variant(key)
        rows[key] = {"title": store.study.titles[key], "family": variant.family, **facts}
    return pd.DataFrame.from_dict(rows, orient="index")


def _missing(store: Store) -> list[str]:
    if store.study.training is None:
        return []  # populations that were given may be of any size
    notes = []
    for variant in store.study.all_variants:
        complete = len(store.members(variant.key))
        expected = store.study.population
        if complete < expected:
            records = [store.record(variant.key, member) for member in range(expected)]
            failed = sum(record.get("status") == "failed" for record in records)
            notes.append(
                f"{store.study.titles[variant.key]}: {complete} of {expected} members are there"
                + (f"; {failed} failed (member.json holds the traceback)." if failed else ".")
            )
    return notes


def _dependent(store: Store, audit: Summary) -> list[str]:
    made = [store.study.titles[key] for key in audit.impacts if store.study.variant(key).parent]
    if not made:
        return []
    return [
        f"Members of {listed(made)} are made from the baseline's members of the same number; Welch's test treats "
        "the two as independent, which makes it cautious there. The figures by chance heed the pairs."
    ]


def _tied(audit: Summary) -> list[str]:
    titles = audit.table.set_index("variant")["title"]
    changes = {titles[key]: max(found.tie_changes.values(), default=0) for key, found in audit.exemplars.items()}
    images = [f"{count} of {title}" for title, count in changes.items() if count]
    if not images:
        return []
    return [
        "Votes can tie, and here the lowest class wins; under another rule these images would become PIEs or cease to "
        f"be: {listed(images)}."
    ]
