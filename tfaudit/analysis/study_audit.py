"""Every audit of a study, computed once and cached in its directory: what reports and the viewer show."""

from __future__ import annotations

import dataclasses
import functools
import re
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from tfaudit.analysis.audits import AUDITS
from tfaudit.analysis.cache import cached, digest
from tfaudit.analysis.corruption_strip import CorruptionStrip, most_lost_image
from tfaudit.analysis.study_data import BASELINE, StudyData
from tfaudit.audits.classes.classes import ClassImpact, p_of_others
from tfaudit.audits.doubts import Doubt
from tfaudit.audits.gate.limits import DEFAULT_LIMITS, Limits
from tfaudit.audits.model_pair.model_pair import PairComparison
from tfaudit.audits.prediction_counts.prediction_counts import PredictionCounts, count_predictions
from tfaudit.audits.summary.summary import Summary, VariantAudit, summarise
from tfaudit.audits.verdict.study_verdict import StudyVerdict, study_verdict
from tfaudit.errors import InputError, listed, require_one_of
from tfaudit.store.store import Missing, Store, open_store
from tfaudit.study.conditions import Condition

FACTS = ("sparsity", "bytes", "gzipped_bytes")
"""Facts of a member's record whose means the table of the study shows."""

_REASONS = {
    "failed": "failed (member.json holds the traceback)",
    "damaged": "damaged, which `tfaudit run` makes again",
    "missing": "missing",
    "of another study": "of another study, which `tfaudit run` makes again",
    "not in study.json": "not in study.json, an older file",
}


class StudyAudit:
    """The audits of one split of a study, each computed when it is first used.

    Every audit of `AUDITS` is a method of its name, which takes the key of a variant and the audit's own arguments:
    `study_audit.groups("int8", column="writer")`. It raises an InputError if the study has no such variant or does not
    allow the audit; `prepare` computes all that it allows.
    """

    def __init__(self, data: StudyData) -> None:
        self.data = data
        self._results: dict[str, Any] = {}
        self._lock = threading.RLock()

    @classmethod
    def read(cls, store: Store, split: str = "test", **options: Any) -> StudyAudit:
        """Open a split of a study, with the options of `StudyData`. This reads the records of its members only.

        Raises:
            InputError: no such split, no dense member to compare with, or an option out of range.
        """
        return cls(StudyData(store, split, **options))

    @classmethod
    def open(cls, directory: str | Path, **options: Any) -> StudyAudit:
        """Open the test split of a study by its directory; options and errors are those of `read`."""
        return cls.read(open_store(directory), **options)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name not in AUDITS:
            raise AttributeError(name, name=name, obj=self)
        return functools.partial(self.result, name)

    def prepare(self, progress: Callable[[float, str], None] = lambda share, message: None) -> None:
        """Compute every audit that the study allows, variant by variant, so that each population is read once.

        Before each variant, `progress` is called with the share that is done and what comes next.
        """
        data = self.data
        corrupted = data.corrupted_keys if data.conditions else ()
        steps = [(key, False) for key in data.titles] + [(key, True) for key in corrupted]
        for i, (key, under_corruption) in enumerate(steps):
            name = f"{data.titles[key]} under corruption" if under_corruption else data.titles[key]
            progress(i / len(steps), f"Auditing {name}, {i + 1} of {len(steps)}")
            for audit in AUDITS.values():
                if (audit.name == "robustness") == under_corruption and audit.applies(data, key):
                    for arguments in audit.arguments(data, key):
                        self._computed(audit.name, key, **arguments)
        data.forget_populations()
        progress(1.0, "Audited")

    def result(self, name: str, key: str, **arguments: Any) -> Any:
        """Return the result of an audit of `AUDITS`, with its own arguments, such as `column`.

        Lost and gained recall is corrected for the classes of all variants, as the verdict is.
        """
        found = self._computed(name, key, **arguments)
        if isinstance(found, VariantAudit) and found.impact is not None:
            impact = self._corrected_for_all(key, found.impact)
            return dataclasses.replace(found, impact=impact)
        if isinstance(found, ClassImpact | PairComparison):
            return self._corrected_for_all(key, found)
        return found

    def _corrected_for_all(self, key: str, found: Any) -> Any:
        """Return a result on the classes of a variant with the p-values of all other variants, which count, too."""
        applies = AUDITS["measurements"].applies
        p = {
            other: self.measurements(other).classes.p
            for other in self.data.compressed_keys
            if other != key and applies(self.data, other)
        }
        return dataclasses.replace(found, other_p=p_of_others(p, key))

    def _computed(self, name: str, key: str, **arguments: Any) -> Any:
        """Return the result of an audit from memory, from disk, or by computing it."""
        audit = AUDITS[name]
        data = self.data
        require_one_of("variant", key, data.titles)
        if not audit.applies(data, key):
            keys = [other for other in data.titles if audit.applies(data, other)]
            raise InputError("variant", repr(key), ", ".join(keys) or f"none: none allows {name}")
        compute = audit.compute
        if compute is None:
            return getattr(self._computed("variant", key), audit.part)
        return self.cached(
            ".".join([name, key, *map(_file_name, arguments.values())]),
            audit.result,
            lambda: compute(data, key, **audit.options(data, key), **arguments),
            audit.variants(key),
            lambda: self._inputs(name, key, **arguments),
        )

    def _inputs(self, name: str, key: str, **arguments: Any) -> object:
        """Return what the result of an audit depends on beside the study and the predictions."""
        audit = AUDITS[name]
        return [audit.options(self.data, key), arguments, audit.depends_on(self.data, key)]

    @property
    def summary(self) -> Summary:
        """The table of the study."""
        with self._lock:
            if "summary" not in self._results:
                audits = {key: self.variant(key) for key in self.data.titles}
                summary = summarise(audits, self._descriptions(), alpha=self.data.alpha)
                remarks = self.data.store.remarks(self.data.split)
                before = (*self.missing_results(), *remarks, *self._dependent_members(summary))
                notes = (*before, *summary.notes, *_tied_votes(summary))
                self._results["summary"] = dataclasses.replace(summary, notes=notes)
            return self._results["summary"]

    def verdict(self, limits: Limits = DEFAULT_LIMITS) -> StudyVerdict:
        """Judge every compressed variant, for the first screen. Changing the limits reads no predictions again.

        Without limits, those hold that the study keeps, in the order that it keeps.
        The verdict by the last limits is cached on disk: with 1,000 classes it takes seconds.
        """
        data = self.data
        judging = data.store.judging
        limits = judging.applied(limits)
        corrupted = limits.corruption_drop_pp is not None
        names = ["corrupted_measurements", "measurements"] if corrupted else ["measurements"]
        measurable = {
            key: next((name for name in names if AUDITS[name].applies(data, key)), None)
            for key in data.compressed_keys
        }
        slices = AUDITS.get("slices") if limits.slice_drop_pp is not None else None
        sliced = [key for key in measurable if slices and slices.applies(data, key)]
        by_groups = limits.group_drop_pp is not None and data.group_columns
        grouped = [key for key, name in measurable.items() if name and by_groups]
        missing = data.missing(corrupted=corrupted)

        def compute() -> StudyVerdict:
            return study_verdict(
                self._measured(measurable, sliced, grouped),
                self._descriptions(),
                limits,
                baseline=BASELINE,
                missing=missing,
                sequence=judging.sequence,
            )

        def inputs() -> object:
            of_measured = [name and self._inputs(name, key) for key, name in measurable.items()]
            of_measured += [self._inputs("slices", key) for key in sliced]
            of_groups = data.groups_fingerprint if grouped else None
            return [of_measured, of_groups, limits.as_dict(), missing]

        verdict = self.cached(
            f"verdict by {limits}, without {missing}",
            StudyVerdict,
            compute,
            (BASELINE, *measurable),
            inputs,
            file="verdict",
        )
        return dataclasses.replace(verdict, missing=tuple(self.missing_results()))

    def _measured(
        self, measurable: Mapping[str, str | None], sliced: Sequence[str], grouped: Sequence[str]
    ) -> dict[str, Any]:
        """Return the measurements of variants, some with slices or named groups; None for those that have none."""
        data = self.data
        measured: dict[str, Any] = {
            key: self.result(name, key) if name else None for key, name in measurable.items()
        }
        for key in sliced:
            found = self.result("slices", key)
            sides = data.baseline, data.populations[key]
            measured[key] = measured[key].with_slices(*sides, found)
        for key in grouped:
            sides = data.baseline, data.populations[key]
            measured[key] = measured[key].with_groups(*sides, data.groups[data.group_columns])
        return measured

    @property
    def doubts(self) -> tuple[Doubt, ...]:
        """What forbids a verdict on some variant, each once."""
        applies = AUDITS["measurements"].applies
        keys = [key for key in self.data.compressed_keys if applies(self.data, key)]
        doubts = (doubt for key in keys for doubt in self.measurements(key).doubts)
        return tuple(dict.fromkeys(doubts))

    @property
    def model_pairs(self) -> dict[str, PairComparison]:
        """`model_pair` of every variant that is one model, as the baseline is."""
        keys = filter(self.data.is_single, self.data.compressed_keys)
        return {key: self.model_pair(key) for key in keys}

    def most_lost_image(self) -> CorruptionStrip | None:
        """Return the image that compression loses to corruption most often; None without one."""
        keys = (BASELINE, *self.data.corrupted_keys)

        def inputs() -> object:
            evaluations = self.data.fingerprints.evaluations
            return [self.data.conditions, *(evaluations[key] for key in keys)]

        def counts(key: str, condition: Condition | None) -> PredictionCounts:
            if condition is None:
                return self.counts(key)
            return count_predictions(self.data.under_condition(key, condition))

        def compute() -> CorruptionStrip | None:
            robustness = {key: self.robustness(key) for key in self.data.corrupted_keys}
            return most_lost_image(self.data, robustness, counts)

        return self.cached("corruption_strip", CorruptionStrip | None, compute, keys, inputs)

    def latency(self, unit: str) -> dict[str, float]:
        """Return the latency of one image by variant, in "ms" or as "ratio" to the baseline's; {} if not measured."""
        costs = self.data.store.table("costs")
        column = f"latency_1_{unit}"
        if costs is None or column not in costs:
            return {}
        return dict(zip(costs["variant"], costs[column], strict=True))

    def cached(
        self,
        name: str,
        kind: Any,
        compute: Callable[[], Any],
        variants: Sequence[str],
        inputs: Callable[[], object],
        *,
        file: str = "",
    ) -> Any:
        """Return a result from memory, or from disk, or compute it and cache it in both.

        The file is called as the result by default; of results that share one, the last stays.
        """
        with self._lock:
            if name not in self._results:
                files = self.data.fingerprints
                everything = [files.study, [files.predictions[key] for key in variants], inputs()]
                place = f"{self.data.split}.{file or name}"
                self._results[name] = cached(self.data.store, place, everything, kind, compute)
            return self._results[name]

    def _descriptions(self) -> pd.DataFrame:
        """Return title, family and the means of `FACTS` of every variant; rows by key."""
        data = self.data
        rows = {
            key: {
                "title": title,
                "family": data.study.variant(key).family,
                **data.means(key, FACTS),
            }
            for key, title in data.titles.items()
        }
        return pd.DataFrame.from_dict(rows, orient="index")

    def missing_results(self) -> list[str]:
        """Return a sentence per variant with missing members, and per condition with missing evaluations."""
        data = self.data
        notes = []
        conditions = {condition.split: condition for condition in data.study.conditions}
        missing = data.store.missing("test", *conditions)
        for key, gaps in _by_variant(missing, "test").items():
            complete = len(data.store.members(key))
            reasons = Counter(_REASONS[gap.reason] for gap in gaps)
            parts = ", ".join(f"{count} {reason}" for reason, count in reasons.items())
            title = data.study.titles.get(key, key)
            notes.append(
                f"{title}: {complete} of {complete + len(gaps)} members are complete; {parts}."
            )
        for split, condition in conditions.items():
            for key, gaps in _by_variant(missing, split).items():
                members = listed([str(gap.member) for gap in gaps])
                noun = "member" if len(gaps) == 1 else "members"
                notes.append(
                    f"{condition.title}: no predictions of {data.study.titles[key]}, {noun} {members}."
                )
        known = {"test", data.split, *conditions}
        if others := [split for split in data.store.splits if split not in known]:
            notes.append(
                f"Predictions under {listed(others)} are not audited: study.json names no such condition."
            )
        return notes

    def _dependent_members(self, summary: Summary) -> list[str]:
        titles = [
            self.data.titles[key] for key in summary.impacts if self.data.study.parent_of(key)
        ]
        note = (
            f"Members of {listed(titles)} are made from the baseline's members of the same number. Welch's test treats "
            "the two as independent, which makes it conservative; the counts expected by chance respect the pairs."
        )
        return [note] if titles else []


def _by_variant(missing: Sequence[Missing], split: str) -> dict[str, list[Missing]]:
    """Return the missing results of a split by the key of their variant, in their order."""
    gaps = [gap for gap in missing if gap.split == split]
    return {
        key: [gap for gap in gaps if gap.variant == key]
        for key in dict.fromkeys(gap.variant for gap in gaps)
    }


def _tied_votes(summary: Summary) -> list[str]:
    undecided = {key: result.summary()["undecided"] for key, result in summary.exemplars.items()}
    titles = summary.table.set_index("variant")["title"]
    images = [f"{count:,} of {titles[key]}" for key, count in undecided.items() if count]
    note = f"Examples that are ties between models count as undecided, not as changed: {listed(images)}."
    return [note] if images else []


def _file_name(argument: object) -> str:
    """Return an argument as part of a file's name: short words as they are, others as digests, None as "all"."""
    text = str(argument)
    if argument is None:
        return "all"
    return text if re.fullmatch(r"(?!all$)[a-z]{1,20}", text) else digest(text)[:8]
