"""Every audit of a study, computed once and cached in its directory: what reports and the viewer show."""

from __future__ import annotations

import dataclasses
import re
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from tfaudit.analysis.audits import AUDITS, factor_table, factors_of, pruned_keys
from tfaudit.analysis.cache import cached, digest
from tfaudit.analysis.image_strip import ImageStrip, image_strip, most_lost_image
from tfaudit.analysis.study_data import BASELINE, StudyData
from tfaudit.audits.attributes.attributes import Attributes
from tfaudit.audits.chance.chance import Chance
from tfaudit.audits.classes.classes import CENTERINGS, ClassImpact
from tfaudit.audits.distortion.recall_distortion import Distortion
from tfaudit.audits.exemplars.exemplars import Exemplars
from tfaudit.audits.gate.limits import DEFAULT_LIMITS, Limits
from tfaudit.audits.gate.measurements import Measurements
from tfaudit.audits.groups.groups import Groups
from tfaudit.audits.model_pair.model_pair import PairComparison, compare
from tfaudit.audits.prediction_counts.prediction_counts import PredictionCounts, count_predictions
from tfaudit.audits.robustness.robustness import Robustness
from tfaudit.audits.summary.summary import Summary, VariantAudit, summarise
from tfaudit.audits.trends.trends import Trends
from tfaudit.audits.verdict.study_verdict import StudyVerdict, study_verdict
from tfaudit.errors import InputError, listed, require
from tfaudit.store.store import Missing, Store
from tfaudit.study.conditions import Condition

if TYPE_CHECKING:
    from tfaudit.audits.factors.regression import Factors

FACTS = ("sparsity", "bytes", "gzipped_bytes")
"""Facts of a member's record whose means the table of the study shows."""


_REASONS = {
    "failed": "failed (member.json holds the traceback)",
    "damaged": "damaged, which `tfaudit run` makes again",
    "missing": "missing",
    "not in study.json": "not in study.json, which is an older one",
}


class StudyAudit:
    """The audits of one split of a study, each computed when it is first used.

    Methods take the key of a variant. They raise an InputError where the study has no such variant, or where its
    members do not allow the audit; `prepare` computes all that they allow. `result` gives any audit of `AUDITS` by its
    name; the other methods are the same with types.
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
                        self.result(audit.name, key, **arguments)
        data.forget_populations()
        progress(1.0, "Audited")

    def result(self, name: str, key: str, **arguments: Any) -> Any:
        """Return the result of an audit of `AUDITS`, with its own arguments, such as `centering` or `column`.

        Example:
            `study_audit.result("groups", "int8", column="writer")`
        """
        audit = AUDITS[name]
        data = self.data
        require(key in data.titles, "variant", key, ", ".join(data.titles))
        options = audit.options(data, key)
        return self._cached(
            ".".join([name, key, *map(_file_name, arguments.values())]),
            audit.result,
            lambda: audit.compute(data, key, **options, **arguments),
            audit.variants(key),
            [options, arguments, audit.depends_on(data, key)],
        )

    @property
    def summary(self) -> Summary:
        """The table of the study."""
        with self._lock:
            if "summary" not in self._results:
                audits = {key: self.variant(key) for key in self.data.titles}
                summary = summarise(audits, self._descriptions(), alpha=self.data.alpha)
                remarks = self.data.store.remarks(self.data.split)
                before = (*self._missing_results(), *remarks, *self._dependent_members(summary))
                notes = (*before, *summary.notes, *_tied_votes(summary))
                self._results["summary"] = dataclasses.replace(summary, notes=notes)
            return self._results["summary"]

    def verdict(self, limits: Limits = DEFAULT_LIMITS) -> StudyVerdict:
        """Judge every compressed variant: the first screen. Other limits read no predictions again."""
        applies = AUDITS["measurements"].applies
        keys = self.data.compressed_keys
        measured = {
            key: self.measurements(key) if applies(self.data, key) else None for key in keys
        }
        verdict = study_verdict(measured, self._descriptions(), limits, baseline=BASELINE)
        missing = tuple(self._missing_results())
        return dataclasses.replace(verdict, alerts=(*missing, *verdict.alerts), missing=missing)

    def measurements(self, key: str) -> Measurements:
        """Return what a gate measures of a variant; an error where one model is compared with several."""
        return self.result("measurements", key)

    def variant(self, key: str) -> VariantAudit:
        """Return the audit of one variant, from which its row of the table is made."""
        return self.result("variant", key)

    def counts(self, key: str) -> PredictionCounts:
        """Return the counted predictions of a population, compressed or baseline."""
        return self.result("counts", key)

    def exemplars(self, key: str) -> Exemplars:
        """Return the PIEs of a compressed variant."""
        exemplars = self.variant(key).exemplars
        if exemplars is None:
            raise InputError("variant", repr(key), ", ".join(self.data.compressed_keys))
        return exemplars

    def chance(self, key: str) -> Chance | None:
        """Return the permutation tests of a variant; None where there are none."""
        return self.variant(key).chance

    def class_impact(self, key: str, centering: str = "member") -> ClassImpact:
        """Return the change of every class; an error where a population has a single member."""
        require(centering in CENTERINGS, "centering", centering, ", ".join(CENTERINGS))
        impact = self.variant(key).impact
        if impact is not None and centering == impact.centering:
            return impact
        return self.result("class_impact", key, centering=centering)

    def distortion(self, key: str) -> Distortion:
        """Return the recall distortion; an error where a variant shares no member numbers with the baseline."""
        return self.result("distortion", key)

    def model_pair(self, key: str) -> PairComparison:
        """Compare a variant with the baseline as one model with one; an error where either has several members."""
        return self.result("model_pair", key)

    @property
    def model_pairs(self) -> dict[str, PairComparison]:
        """`model_pair` of every variant that is one model, as the baseline is."""
        return {
            key: self.model_pair(key)
            for key in self.data.compressed_keys
            if self.data.is_single(key)
        }

    def member_pair(self, key: str, before: int, after: int) -> PairComparison:
        """Compare member `before` of the baseline with member `after` of a variant. The result is not cached."""
        store = self.data.store
        split = self.data.split
        models = (
            store.predictions(k, split, members=[member])
            for k, member in ((BASELINE, before), (key, after))
        )
        return compare(*models, alpha=self.data.alpha)

    def groups(self, key: str, column: str | None = None) -> Groups:
        """Return the change of the groups of one of the `group_columns`, else of all examples, and of individuals."""
        columns = self.data.group_columns
        require(column is None or column in columns, "column", column, ", ".join(columns))
        return self.result("groups", key, column=column)

    def attributes(self, key: str) -> Attributes:
        """Return the groups that PIEs come from more often than other examples."""
        return self.result("attributes", key)

    def trends(self, key: str) -> tuple[Trends, ...]:
        """Return accuracy against each property of small grey images; () where the images have none."""
        return self.result("trends", key)

    def robustness(self, key: str) -> Robustness:
        """Return the robustness of one of the `corrupted_keys`."""
        keys = self.data.corrupted_keys
        require(key in keys, "variant", key, ", ".join(keys) or "none: no conditions")
        return self.result("robustness", key)

    def factors(self) -> tuple[Factors, ...]:
        """Return the regressions of class accuracy, [P]; () with fewer than three sparsities or too few classes."""
        if not (keys := pruned_keys(self.data)):
            return ()
        from tfaudit.audits.factors.regression import Factors  # loads statsmodels

        inputs = [self.data.fingerprints.classes, self.data.alpha]
        kind = tuple[Factors, ...]

        def compute() -> tuple[Factors, ...]:
            return factors_of(factor_table(self.data, keys), self.data.alpha)

        return self._cached("factors", kind, compute, (BASELINE, *keys), inputs)

    def most_lost_image(self) -> ImageStrip | None:
        """Return the image that compression loses to corruption most often; None without one."""
        keys = (BASELINE, *self.data.corrupted_keys)
        inputs = [self.data.conditions, *(self.data.fingerprints.evaluations[key] for key in keys)]

        def compute() -> tuple[ImageStrip, ...]:
            robustness = {key: self.robustness(key) for key in self.data.corrupted_keys}
            return most_lost_image(self.data, robustness, self._counts_under)

        strips = self._cached("strip", tuple[ImageStrip, ...], compute, keys, inputs)
        return strips[0] if strips else None

    def image_strip(
        self,
        position: int,
        corruptions: Sequence[str],
        variants: Sequence[str],
        counts: Callable[[str, Condition], PredictionCounts] | None = None,
    ) -> ImageStrip:
        """Return the image at a position under computed corruptions, with the majority predictions of variants.

        `counts` returns the counted predictions of a variant under a condition; by default the store is read.
        """

        def by_condition(key: str, condition: Condition | None) -> PredictionCounts:
            if condition is None or counts is None:
                return self._counts_under(key, condition)
            return counts(key, condition)

        return image_strip(self.data, position, corruptions, variants, by_condition)

    def trade_offs(self) -> pd.DataFrame:
        """Return the costs and the accuracy of every model, for `tfaudit.operating_points`.

        One row per variant and member. Columns: `variant`, `member`, `title`, `technique`, `sparsity` (a share),
        `bytes`, `gzipped kB`, `size` (gzipped) and `time` (latency of one image, where `tfaudit cost` measured it) as
        shares of the baseline's, `accuracy`, `unfairness`. NaN where a value is unknown.
        """
        facts = self.summary.table.set_index("variant").rename(columns={"family": "technique"})
        sizes = facts["gzipped_bytes"].astype(float)
        facts = facts.astype({"sparsity": float, "bytes": float}).assign(
            **{"gzipped kB": sizes / 1000}
        )
        facts["size"] = sizes / sizes[BASELINE]
        facts["time"] = facts.index.map(self.latency("ratio"))
        facts = facts[["title", "technique", "sparsity", "bytes", "gzipped kB", "size", "time"]]
        measured = pd.concat(
            [self.result("unfairness", key) for key in self.data.titles], ignore_index=True
        )
        known = facts.loc[measured["variant"]].reset_index(drop=True)
        return pd.concat(
            [measured[["variant", "member"]], known, measured[["accuracy", "unfairness"]]], axis=1
        )

    def latency(self, unit: str) -> dict[str, float]:
        """Return the latency of one image by variant, in "ms" or as "ratio" to the baseline's; {} if not measured."""
        costs = self.data.store.table("costs")
        column = f"latency_1_{unit}"
        return (
            {}
            if costs is None or column not in costs
            else dict(zip(costs["variant"], costs[column], strict=True))
        )

    def _cached(
        self,
        name: str,
        kind: Any,
        compute: Callable[[], Any],
        variants: Sequence[str],
        inputs: object,
    ) -> Any:
        """Return a result from memory, or from disk, or compute it and cache it in both."""
        with self._lock:
            if name not in self._results:
                files = self.data.fingerprints
                everything = [files.study, [files.predictions[key] for key in variants], inputs]
                file = f"{self.data.split}.{name}"
                self._results[name] = cached(self.data.store, file, everything, kind, compute)
            return self._results[name]

    def _counts_under(self, key: str, condition: Condition | None) -> PredictionCounts:
        return (
            self.counts(key)
            if condition is None
            else count_predictions(self.data.under_condition(key, condition))
        )

    def _descriptions(self) -> pd.DataFrame:
        """Return title, family and the means of `FACTS` of every variant; rows by key."""
        rows = {
            key: {
                "title": title,
                "family": self.data.study.variant(key).family,
                **self.data.means(key, FACTS),
            }
            for key, title in self.data.titles.items()
        }
        return pd.DataFrame.from_dict(rows, orient="index")

    def _missing_results(self) -> list[str]:
        """Return a sentence per variant with members, and per condition with evaluations, that should be there."""
        data = self.data
        notes = []
        for key, gaps in _by(data.store.missing(), "variant").items():
            complete = len(data.store.members(key))
            parts = [
                f"{len(group)} {_REASONS[reason]}" for reason, group in _by(gaps, "reason").items()
            ]
            title = data.study.titles.get(key, key)
            whole = complete + len(gaps)
            notes.append(
                f"{title}: {complete} of {whole} members are complete; {', '.join(parts)}."
            )
        for condition in data.study.conditions:
            for key, gaps in _by(data.store.missing(condition.split), "variant").items():
                members = listed([str(gap.member) for gap in gaps])
                title = data.study.titles[key]
                noun = "member" if len(gaps) == 1 else "members"
                notes.append(f"{condition.title}: no predictions of {title}, {noun} {members}.")
        known = {"test", data.split, *(condition.split for condition in data.study.conditions)}
        if others := [split for split in data.store.splits if split not in known]:
            notes.append(
                f"Predictions under {listed(others)} are not audited: study.json names no such condition."
            )
        return notes

    def _dependent_members(self, summary: Summary) -> list[str]:
        titles = [
            self.data.titles[key] for key in summary.impacts if self.data.study.variant(key).parent
        ]
        note = (
            f"Members of {listed(titles)} are made from the baseline's members of the same number. Welch's test treats "
            "the two as independent, which makes it conservative; the counts expected by chance respect the pairs."
        )
        return [note] if titles else []


def _by(gaps: Sequence[Missing], field: str) -> dict[str, list[Missing]]:
    """Return missing results by one of their fields, in their order."""
    groups: dict[str, list[Missing]] = {}
    for gap in gaps:
        groups.setdefault(getattr(gap, field), []).append(gap)
    return groups


def _tied_votes(summary: Summary) -> list[str]:
    undecided = {key: result.summary()["undecided"] for key, result in summary.exemplars.items()}
    titles = summary.table.set_index("variant")["title"]
    images = [f"{count:,} of {titles[key]}" for key, count in undecided.items() if count]
    note = f"Images that are ties between models count as undecided, not as PIEs: {listed(images)}."
    return [note] if images else []


def _file_name(argument: object) -> str:
    text = "all" if argument is None else str(argument)
    return (
        text
        if argument is None or (re.fullmatch(r"[a-z]{1,20}", text) and text != "all")
        else digest(text)[:8]
    )
