"""What the sections of a report are made from."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from functools import cached_property

import pandas as pd

from tfaudit.audit.summary import Summary
from tfaudit.predictions import Predictions
from tfaudit.store import Store

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
    def titles(self) -> Mapping[str, str]:
        """Names of the variants for people."""
        return dict(self.audit.table.set_index("variant")["title"])
