"""What a study knows of its variants beside their predictions, and what a reader of its audit has to know."""

from __future__ import annotations

import pandas as pd

from tfaudit.analysis.fingerprints import Inputs
from tfaudit.audit.summary import Summary
from tfaudit.errors import listed
from tfaudit.study.study import Study

__all__ = ["MEASURED", "described", "remarks"]

MEASURED = ("sparsity", "bytes", "gzipped_bytes")


def described(study: Study, inputs: Inputs) -> pd.DataFrame:
    """Title and family of every variant, and the means over its members of what their records hold; rows by key."""
    return pd.DataFrame.from_dict(
        {
            key: {"title": study.titles[key], "family": study.variant(key).family, **inputs.means(key, MEASURED)}
            for key in inputs.members
        },
        orient="index",
    )


def remarks(study: Study, inputs: Inputs, audit: Summary) -> tuple[str, ...]:
    """The notes of an audit, and before and after them those that only the study can tell."""
    return (*_missing(study, inputs), *_dependent(study, audit), *audit.notes, *_tied(audit))


def _missing(study: Study, inputs: Inputs) -> list[str]:
    if study.training is None:
        return []  # populations that were given may be of any size
    notes = []
    for variant in study.all_variants:
        complete = len(inputs.members.get(variant.key, ()))
        if complete < study.population:
            failed = sum(record.get("status") == "failed" for record in inputs.records[variant.key].values())
            notes.append(
                f"{study.titles[variant.key]}: {complete} of {study.population} members are there"
                + (f"; {failed} failed (member.json holds the traceback)." if failed else ".")
            )
    return notes


def _dependent(study: Study, audit: Summary) -> list[str]:
    made = [study.titles[key] for key in audit.impacts if study.variant(key).parent]
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
