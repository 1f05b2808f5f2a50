"""What the sections of a report are made from."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from functools import cached_property

import pandas as pd

from tfaudit.audit.attributes import MANY
from tfaudit.audit.summary import Summary
from tfaudit.conditions import Condition
from tfaudit.predictions import Predictions
from tfaudit.store import Store
from tfaudit.study import Study

__all__ = ["Material"]


@dataclasses.dataclass(frozen=True)
class Material:
    """A study, its audit, and what people brought along.

    Attributes:
        store: of the study.
        audit: of its variants.
        split: whose predictions are reported.
        groups: one row per example in the order of the study, columns of groups; of the store and of the caller.
        answers: of a human study, one row per rater and example; None where there was none.
    """

    store: Store
    audit: Summary
    split: str
    groups: pd.DataFrame
    answers: pd.DataFrame | None = None

    @cached_property
    def populations(self) -> Mapping[str, Predictions]:
        """Predictions by variant, the baseline first."""
        return {key: self.store.predictions(key, self.split) for key in self.audit.table["variant"]}

    @property
    def baseline(self) -> Predictions:
        """Of the uncompressed population."""
        return self.populations[self.audit.baseline]

    @property
    def compressed(self) -> Mapping[str, Predictions]:
        """Predictions of the compressed variants."""
        return {key: population for key, population in self.populations.items() if key != self.audit.baseline}

    @cached_property
    def group_columns(self) -> list[str]:
        """Columns of two values up to `MANY`: writers' series, attributes."""
        return [str(name) for name, count in self._distinct.items() if 2 <= count <= MANY]

    @cached_property
    def individuals(self) -> pd.Series | None:
        """The first column of more values that still repeat: writers, patients, devices; None where there is none."""
        names = [name for name, count in self._distinct.items() if MANY < count <= len(self.groups) / 2]
        return self.groups[names[0]] if names else None

    @cached_property
    def conditions(self) -> tuple[Condition, ...]:
        """Under which the baseline was evaluated, as the test set was; none for other splits."""
        return tuple(
            c for c in self.store.conditions if self.split == "test" and self.evaluated(self.audit.baseline, c)
        )

    def evaluated(self, key: str, condition: Condition) -> int:
        """How many members of a variant were evaluated under a condition."""
        there = self.store.evaluations.is_there
        return sum(there(key, member, condition.split) for member in self._members[key])

    @cached_property
    def _members(self) -> Mapping[str, tuple[int, ...]]:
        """The complete members of every variant: the store reads a file for each to find them."""
        return {key: self.store.members(key) for key in self.audit.table["variant"]}

    @cached_property
    def _distinct(self) -> pd.Series:
        """How many values each column of groups has."""
        return self.groups.nunique(dropna=False)

    def unpaired(self, key: str) -> Predictions:
        """A variant's predictions; where it has no dense parents, its members do not bear the names of dense ones."""
        population = self.populations[key]
        if self.study.variant(key).parent is not None:
            return population
        return Predictions(
            population.labels,
            population.ranked,
            class_names=population.class_names,
            example_ids=population.example_ids,
            members=[f"{key}/{member}" for member in population.members],
        )

    @property
    def alpha(self) -> float:
        """Level of the tests; intervals are at 1 - alpha."""
        return self.audit.alpha

    @property
    def level(self) -> str:
        """Of the intervals, for people."""
        return f"{100 * (1 - self.alpha):g} %"

    @property
    def study(self) -> Study:
        """What was run."""
        return self.store.study

    @cached_property
    def titles(self) -> Mapping[str, str]:
        """Names of the variants for people."""
        return dict(self.audit.table.set_index("variant")["title"])
