"""Populations that grow until the gate decides: `tfaudit run --until-decided`."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tfaudit.audits.gate.checks import CANNOT_JUDGE, OUTCOMES
from tfaudit.cli.console import out
from tfaudit.errors import require
from tfaudit.stats.multiplicity import interim_sizes

if TYPE_CHECKING:
    from tfaudit.audits.gate.limits import Limits
    from tfaudit.store.store import Store
    from tfaudit.study.study import Study


def run_until_decided(
    study: Study,
    directory: Path,
    run: Callable[[Study], Store],
    limits: Limits,
    variants: Sequence[str] | None,
    *,
    alpha: float = 0.05,
) -> Store:
    """Run a study with growing populations until the gate has passed or failed variants, and print every look.

    The gate looks at the first members only, as many as `interim_sizes` says, each time at the level of this look
    (`interim_level`). A variant that is decided stays so. If a member fails, no further ones are added.

    Args:
        study: the study with its largest population.
        directory: directory of the study, in which members may exist already.
        run: function that runs a study and returns its store.
        limits: limits of the gate.
        variants: names or keys of the variants to decide; all by default.
        alpha: level of all looks together.
    """
    from tfaudit.cli.gate_sources import from_study
    from tfaudit.store.store import open_store

    drop = limits.slice_drop_pp
    require(drop is None, "slice_drop_pp", drop, "None: a run stores no features")
    ungrouped = limits.group_drop_pp is None
    expected = "None: a run is judged without groups"
    require(ungrouped, "group_drop_pp", limits.group_drop_pp, expected)
    keys = [study.key_of(name) for name in variants or study.keys[1:]]
    outcomes = dict.fromkeys(keys, CANNOT_JUDGE)
    looks = interim_sizes(study.population)
    started = (directory / "study.json").exists()
    made = open_store(directory).study.population if started else 0
    first = min(max(looks[0], made), study.population)
    store = run(dataclasses.replace(study, population=first))
    for look, members in enumerate(looks, start=1):
        if members > store.study.population:
            store = run(dataclasses.replace(study, population=members))
        if store.failures():
            return store
        undecided = [key for key, outcome in outcomes.items() if outcome == CANNOT_JUDGE]
        corrupted = limits.corruption_drop_pp is not None
        pairs = from_study(
            store.directory, undecided, "test", population=members, corrupted=corrupted
        )
        for key, pair in pairs.items():
            outcomes[key] = pair.judged(limits, alpha=alpha, looks=len(looks), look=look).outcome
        named = {study.names[key]: outcome for key, outcome in outcomes.items()}
        out.tell(_in_words(look, len(looks), members, named))
        if CANNOT_JUDGE not in outcomes.values():
            break
    trained = store.study.population
    out.print(f"{trained} members of each variant were made, of at most {study.population}")
    return store


def _in_words(look: int, looks: int, members: int, outcomes: dict[str, str]) -> str:
    """Return the outcomes so far in one line.

    >>> _in_words(2, 5, 5, {"int8": "pass", "magnitude 90 %": "cannot judge"})
    'look 2 of 5, 5 members: pass int8; cannot judge yet magnitude 90 %'
    """
    parts = []
    for outcome in reversed(OUTCOMES):
        if keys := [key for key, own in outcomes.items() if own == outcome]:
            yet = " yet" if outcome == CANNOT_JUDGE and look < looks else ""
            parts.append(f"{outcome}{yet} {', '.join(keys)}")
    return f"look {look} of {looks}, {members} members: {'; '.join(parts)}"
