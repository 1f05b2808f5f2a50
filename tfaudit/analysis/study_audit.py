"""What reports and the viewer show of a study: every audit, computed once and kept beside the study."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import cached_property
from typing import Any, TypeVar

import pandas as pd

from tfaudit.analysis.cache import digest
from tfaudit.analysis.stored_images import can_be_measured, image_properties
from tfaudit.analysis.study_data import BASELINE, StudyData
from tfaudit.analysis.variant_facts import described, remarks
from tfaudit.audit.attributes import Attributes, attributes
from tfaudit.audit.chance import Chance
from tfaudit.audit.classes import CENTERINGS, ClassImpact, class_impact
from tfaudit.audit.corruption.robustness import Robustness, robustness
from tfaudit.audit.distortion.recall_distortion import Distortion, distortion
from tfaudit.audit.exemplars import Exemplars
from tfaudit.audit.groups import Groups, groups
from tfaudit.audit.model_pair import PairComparison, compare
from tfaudit.audit.operating_points import trade_offs
from tfaudit.audit.prediction_counts import Tally, tally
from tfaudit.audit.summary import Summary, summarise
from tfaudit.audit.trends import Trends, trends
from tfaudit.audit.variant_audit import VariantAudit, audit_variant
from tfaudit.errors import InputError, require
from tfaudit.predictions import Predictions
from tfaudit.store.store import Store

__all__ = ["StudyAudit", "prepare"]

T = TypeVar("T")


class StudyAudit(StudyData):
    """A study and its audits, each made when it is first asked for.

    Methods take keys of variants. They raise an InputError where the study holds no such variant, or where its members
    do not allow that audit; `prepare` makes all that they do allow.
    """

    @classmethod
    def read(
        cls,
        store: Store,
        split: str = "test",
        *,
        alpha: float = 0.05,
        permutations: int = 1000,
        seed: int = 0,
        groups: pd.DataFrame | None = None,
        answers: pd.DataFrame | None = None,
    ) -> StudyAudit:
        """Opens a study; this reads the records of its members and nothing else.

        Args:
            store: of the study.
            split: whose predictions to audit.
            alpha: level of the tests.
            permutations: how many assignments of members to count at most, for the figures by chance; 0 for none.
            seed: of random assignments.
            groups: further columns, N rows in the order of the study's examples.
            answers: of a human study, as `tfaudit.survey` takes them.

        Raises:
            InputError: no such split, no dense member to compare with, or an option that is not allowed.
        """
        return cls(store, split, alpha=alpha, permutations=permutations, seed=seed, groups=groups, answers=answers)

    def prepare(self, progress: Callable[[float, str], None] = lambda share, words: None) -> None:
        """Makes all that the study allows, variant by variant, so that each population is read once.

        Args:
            progress: told before each variant which share is done and what comes next.
        """
        prepare(self, progress)
        self._read.clear()

    @property
    def audit(self) -> Summary:
        """The table of the study."""
        with self._lock:
            if "audit" not in self._results:
                audits = {key: self.variant(key) for key in self.titles}
                found = summarise(audits, described(self.study, self.inputs), alpha=self.alpha)
                notes = remarks(self.study, self.inputs, found)
                self._results["audit"] = dataclasses.replace(found, notes=notes)
            return self._results["audit"]

    def variant(self, key: str) -> VariantAudit:
        """Its part of the table."""
        options: dict[str, Any] = {
            "alpha": self.alpha,
            **self._permuted,
            "paired": self.study.variant(key).parent is not None,
        }

        def compute() -> VariantAudit:
            return audit_variant(self.baseline, self.populations[key] if key != BASELINE else None, **options)

        return self.keep(f"variant.{key}", VariantAudit, compute, of=(BASELINE, key), by=options)

    def tally(self, key: str) -> Tally:
        """The answers of a population, the baseline's too, counted."""
        return self.keep(f"tally.{key}", Tally, lambda: tally(self.populations[key]), of=(key,))

    def exemplars(self, key: str) -> Exemplars:
        """The PIEs of a compressed variant."""
        found = self.variant(key).exemplars
        if found is None:
            raise InputError("variant", repr(key), ", ".join(self.compressed_keys))
        return found

    def chance(self, key: str) -> Chance | None:
        """Its permutation tests; None where they cannot be made, or are not wanted."""
        return self.variant(key).chance

    def impact(self, key: str, centering: str = "member") -> ClassImpact:
        """What it does to each class; an error where a population has a single member."""
        require(centering in CENTERINGS, "centering", centering, ", ".join(CENTERINGS))
        found = self.variant(key).impact
        if found is not None and centering == found.centering:
            return found
        return self._compared(
            f"impact-{centering}", key, ClassImpact, class_impact, alpha=self.alpha, centering=centering
        )

    def distortion(self, key: str) -> Distortion:
        """Its recall distortion; an error where it `shares_members` with the baseline nowhere."""
        return self._compared("distortion", key, Distortion, distortion)

    def pair(self, key: str) -> PairComparison:
        """One model against one; an error where they are not `single`."""
        return self._compared("pair", key, PairComparison, compare, alpha=self.alpha)

    def member_pair(self, key: str, before: int, after: int) -> PairComparison:
        """One member against one.

        Args:
            key: of the variant.
            before: number of the baseline's member.
            after: number of the variant's.
        """
        sides = ((BASELINE, before), (key, after))
        models = (self.store.predictions(each, self.split, members=[member]) for each, member in sides)
        return compare(*models, alpha=self.alpha)  # quickly made, and too many to be kept

    def group_impact(self, key: str, column: str | None = None) -> Groups:
        """What it does to the groups of a column, and to individuals where they are known.

        Args:
            key: of the variant.
            column: one of `group_columns`; all examples are one group by default.
        """
        require(column is None or column in self.group_columns, "column", column, ", ".join(self.group_columns))
        everybody = pd.Series("all", index=self.groups.index, name="group")
        name = "groups" if column is None else f"groups-{digest(column)[:8]}"
        return self._compared(
            name,
            key,
            Groups,
            lambda before, after, **options: groups(
                before,
                after,
                everybody if column is None else self.groups[column],
                individuals=self.individuals,
                **options,
            ),
            by=[column, self._grouping],
            alpha=self.alpha,
        )

    def attributes(self, key: str) -> Attributes:
        """Which groups its PIEs come from more often than other images do."""

        def compute(before: Predictions, after: Predictions, alpha: float) -> Attributes:
            return attributes(before, after, self.groups[self.group_columns], alpha=alpha)

        return self._compared("attributes", key, Attributes, compute, by=self._grouping, alpha=self.alpha)

    def trends(self, key: str) -> tuple[Trends, ...]:
        """Accuracy against each property of small grey images; none where the images have none."""
        group = self.groups[self.group_columns[0]] if self.group_columns else None

        def compute(before: Predictions, after: Predictions, alpha: float) -> tuple[Trends, ...]:
            people = self.individuals
            return tuple(
                trends(before, after, values, column=group, individuals=people, alpha=alpha)
                for values in self._properties
            )

        return self._compared("trends", key, tuple[Trends, ...], compute, by=self._grouping, alpha=self.alpha)

    def robustness(self, key: str) -> Robustness:
        """Its robustness under the `conditions`; for one of the `corrupted_keys`."""
        require(key in self.corrupted_keys, "variant", key, ", ".join(self.corrupted_keys) or "none: no conditions")

        def compute() -> Robustness:
            sides = (self.under_conditions(BASELINE), self.under_conditions(key))
            clean = (self.baseline, self.populations[key])
            return robustness(*sides, clean=clean, paired=self.paired(key), alpha=self.alpha)

        evaluated = [self.conditions, *(self.inputs.evaluations[each] for each in (BASELINE, key))]
        return self.keep(f"robustness.{key}", Robustness, compute, of=(BASELINE, key), by=[evaluated, self.alpha])

    def trade_offs(self) -> pd.DataFrame:
        """What every model costs and gives, for `tfaudit.operating_points`: one row per variant and member.

        Columns: `variant`, `member`, `title`, `technique`, `sparsity` (a share), `bytes`, `gzipped kB`, `accuracy`,
        `unfairness`.
        """
        facts = self.audit.table.set_index("variant").rename(columns={"family": "technique"})
        facts["gzipped kB"] = facts["gzipped_bytes"] / 1000
        facts = facts[["title", "technique", "sparsity", "bytes", "gzipped kB"]]
        measured = pd.concat([self.unfairness(key) for key in self.titles], ignore_index=True)
        known = facts.loc[measured["variant"]].reset_index(drop=True)
        return pd.concat([measured[["variant", "member"]], known, measured[["accuracy", "unfairness"]]], axis=1)

    def unfairness(self, key: str) -> pd.DataFrame:
        """`accuracy` and `unfairness` of every `member` of a `variant`."""
        return self.keep(
            f"unfairness.{key}",
            pd.DataFrame,
            lambda: trade_offs({key: self.populations[key]}, pd.DataFrame(index=[key])),
            of=(key,),
        )

    @cached_property
    def _properties(self) -> tuple[pd.Series, ...]:
        (first,) = self.store.images(self.split, [0])
        if not can_be_measured(first):  # nor can the others: they need not be read
            return ()
        return image_properties(self.store.examples(self.split, groups=False)["image"])

    def _compared(
        self, name: str, key: str, kind: type[T], audit: Callable[..., T], *, by: object = None, **options: Any
    ) -> T:
        """An audit of a variant against the baseline, with options."""
        return self.keep(
            f"{name}.{key}",
            kind,
            lambda: audit(self.baseline, self.populations[key], **options),
            of=(BASELINE, key),
            by=[by, options],
        )


def prepare(study_audit: StudyAudit, progress: Callable[[float, str], None]) -> None:
    """Makes and keeps the audits of all variants.

    Args:
        study_audit: of the study.
        progress: told before each variant which share is done and what comes next.
    """
    corrupted = study_audit.corrupted_keys if study_audit.conditions else ()
    steps = [(key, False) for key in study_audit.titles] + [(key, True) for key in corrupted]
    for i, (key, under_corruption) in enumerate(steps):
        where = " under corruption" * under_corruption
        progress(i / len(steps), f"Auditing {study_audit.titles[key]}{where}, {i + 1} of {len(steps)}")
        if under_corruption:
            study_audit.robustness(key)
        else:
            _audit(study_audit, key)
    progress(1.0, "Audited")


def _audit(study_audit: StudyAudit, key: str) -> None:
    """Makes those that rest on the answers of one variant to the examples as they are."""
    study_audit.tally(key)
    study_audit.unfairness(key)
    found = study_audit.variant(key)
    if key == BASELINE:
        return
    if found.impact:
        for centering in CENTERINGS:
            study_audit.impact(key, centering)
    if study_audit.shares_members(key):
        study_audit.distortion(key)
    if study_audit.single(key):
        study_audit.pair(key)
    if study_audit.group_columns:
        study_audit.attributes(key)
        for column in study_audit.group_columns:
            study_audit.group_impact(key, column)
    elif study_audit.individuals is not None:
        study_audit.group_impact(key)
    if len(study_audit.groups.columns):
        study_audit.trends(key)
