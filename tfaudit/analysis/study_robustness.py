"""The cost of compression under corruption, of all variants of a study together."""

import dataclasses
import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pandas as pd

from tfaudit.analysis.corruption_strip import CorruptionStrip
from tfaudit.analysis.joint_audits import JointAudit
from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.analysis.study_data import BASELINE, StudyData
from tfaudit.audits.gate.limits import Limits
from tfaudit.audits.result import Drawing, Result
from tfaudit.audits.robustness.declaration import ROBUSTNESS
from tfaudit.audits.robustness.robustness import Robustness, robustness_table
from tfaudit.datasets.corruptions.registry import corruption_title
from tfaudit.errors import listed
from tfaudit.stats.multiplicity import adjust


@dataclasses.dataclass(frozen=True)
class StudyRobustness(Result):
    """Robustness of every variant that was evaluated under the conditions of a study.

    Attributes:
        data: data of the study.
        results: audit of each variant, by key.
        corruption_strip: the image that compression loses to corruption most often, if any.
    """

    data: StudyData
    results: Mapping[str, Robustness]
    corruption_strip: CorruptionStrip | None

    @property
    def titled(self) -> dict[str, Robustness]:
        """The audits by title of the variant."""
        return {self.data.titles[key]: result for key, result in self.results.items()}

    @property
    def first(self) -> Robustness:
        """The audit of the first variant; all have the same conditions and ranks."""
        return next(iter(self.results.values()))

    @property
    def alpha(self) -> float:  # type: ignore[override]
        """Level of the tests."""
        return self.first.alpha

    @property
    def notes(self) -> tuple[str, ...]:  # type: ignore[override]
        """Notes on planned evaluations that are missing, and the notes of the audits."""
        of_results = (note for result in self.results.values() for note in result.notes)
        return (*_design_notes(self.data), *dict.fromkeys(of_results))

    @property
    def findings(self) -> list[str]:
        """What loses more under corruption than on clean images, one sentence each."""
        return excess_findings(self.titled)

    def joint(self, rows: Callable[[Robustness], pd.DataFrame]) -> pd.DataFrame:
        """Return rows of every audit with the `title` of its variant."""
        frames = [rows(result).assign(title=title) for title, result in self.titled.items()]
        return pd.concat(frames, ignore_index=True)

    def frame(self) -> pd.DataFrame:
        """Return one row per corruption, rank and variant."""
        return self.joint(Robustness.frame)

    def summary(self) -> dict[str, Any]:
        """Return the means of every variant by title."""
        return {title: result.summary() for title, result in self.titled.items()}

    def chart(self, k: int = 1) -> Drawing:
        """Draw the change of top-k accuracy per corruption, relative to the baseline's."""
        from tfaudit.audits.robustness.chart import relative_change_chart

        return relative_change_chart(
            {title: result.changes() for title, result in self.titled.items()}, k=k
        )

    def severity_chart(self) -> Drawing:
        """Draw accuracy over severity."""
        from tfaudit.audits.robustness.chart import severity_chart

        curves = {title: result.curves() for title, result in self.titled.items()}
        return severity_chart(curves, baseline=self.data.titles[BASELINE])

    def heat_maps(self) -> Iterator[tuple[str, str, Callable[[], Drawing]]]:
        """Yield key and title of each variant with classes, and what draws them by corruption, all on one scale."""
        from tfaudit.audits.robustness.class_chart import class_corruption_chart, largest_change

        reach = max(largest_change(result.classes) for result in self.results.values())
        for key, result in self.results.items():
            if result.classes["change_pp"].notna().any():
                chart = functools.partial(class_corruption_chart, result.classes, reach=reach)
                yield key, self.data.titles[key], chart

    def by_corruption(self, *, relative: bool) -> pd.DataFrame:
        """Return accuracies, or their relative changes, with a row per corruption."""
        options = {} if relative else {"baseline": self.data.titles[BASELINE]}
        return _by_corruption(robustness_table(self.titled, relative=relative, **options))

    def by_severity(self) -> pd.DataFrame:
        """Return top-1 accuracy with a row per condition and a column per variant."""
        return _severity_table(self.titled, self.data.titles[BASELINE])


def study_robustness(study_audit: StudyAudit, limits: Limits) -> StudyRobustness | None:
    """Return the audits of a study; None if no variant was evaluated under its conditions."""
    data = study_audit.data
    keys = data.corrupted_keys if data.conditions else ()
    results = {key: study_audit.robustness(key) for key in keys}
    return StudyRobustness(data, results, study_audit.most_lost_image()) if results else None


def excess_findings(titled: Mapping[str, Robustness]) -> list[str]:
    """Return sentences on what loses more under corruption than on clean images, in the mean and in single ones."""
    facts = {title: result.summary() for title, result in titled.items()}
    known = {title: row for title, row in facts.items() if pd.notna(row["excess_high_pp"])}
    if not known:
        return []
    more = "more in the mean over the corruptions than on clean images"
    shown = [
        f"{title} loses {-row['excess_pp']:.1f} points {more} "
        f"({-row['excess_high_pp']:+.2f} to {-row['excess_low_pp']:+.2f})."
        for title, row in known.items()
        if row["excess_high_pp"] < 0
    ]
    others = [title for title, row in known.items() if row["excess_high_pp"] >= 0]
    rest = [f"For {listed(others)} the data do not show that."] if others else []
    if not shown:
        rest = [f"For no variant do the data show that it loses {more}."]
    return [*shown, *rest, *_in_single(titled)]


def _in_single(titled: Mapping[str, Robustness]) -> Iterator[str]:
    """Yield a sentence on each variant that loses more in single corruptions, corrected for those of all variants."""
    of_variants = {title: result.corruptions.query("k == 1") for title, result in titled.items()}
    top1 = pd.concat(of_variants, names=["title"])
    alpha = next(iter(titled.values())).alpha
    is_worse = (adjust(top1["excess_p"], "holm") <= alpha) & (top1["excess_pp"] < 0)
    tests = top1["excess_p"].count()
    worse = top1[is_worse].sort_values("excess_pp")
    for title, rows in worse.groupby(level="title", sort=False):
        names = [
            f"{corruption_title(name)} ({-points:.1f} points)"
            for name, points in zip(rows["corruption"], rows["excess_pp"], strict=True)
        ]
        yield f"In single corruptions, corrected for all {tests}, {title} loses more in {listed(names)}."


def _members_notes(data: StudyData) -> Iterator[str]:
    """Yield a note on each variant that was evaluated with fewer members than planned."""
    study = data.study
    conditions = data.conditions
    _, expected = study.evaluated
    for key in (BASELINE, *data.corrupted_keys):
        counts = [len(data.evaluated_members(key, condition)) for condition in conditions]
        members = len(data.members[key])
        title = data.titles[key]
        if incomplete := sum(count < min(expected, members) for count in counts):
            yield f"{title}: fewer than {expected} members under {incomplete} of {len(conditions)} conditions."
        elif min(counts) < members:
            yield f"{title}: {min(counts)} of {members} members were evaluated."


def _design_notes(data: StudyData) -> Iterator[str]:
    """Yield notes on what the study plans but lacks, and on variants that are tested in pairs."""
    study = data.study
    evaluated = data.corrupted_keys
    conditions = data.conditions
    planned, _ = study.evaluated
    absent = [
        data.titles[key] for key in data.compressed_keys if key not in evaluated and key in planned
    ]
    if absent:
        yield f"Not evaluated under corruption: {listed(absent)}."
    omitted = [condition.title for condition in study.conditions if condition not in conditions]
    if omitted:
        yield f"Left out, because not every variant was evaluated there: {listed(omitted)}."
    yield from _members_notes(data)
    paired = [data.titles[key] for key in evaluated if data.is_paired(key)]
    if paired and len(data.members[BASELINE]) > 1:
        yield f"Members of {listed(paired)} are compared in pairs with the baseline's members that they are made from."


def _by_corruption(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table with its corruptions in words and headings of one line."""
    table = table.dropna(how="all").rename(index=corruption_title)
    return table.set_axis([", ".join(names) for names in table.columns], axis=1)


def _severity_table(titled: Mapping[str, Robustness], baseline: str) -> pd.DataFrame:
    top1 = {title: result.severities.query("k == 1") for title, result in titled.items()}
    first = next(iter(top1.values()))
    severities = first["severity"].map(lambda severity: f" {severity}" if severity else "")
    return 100 * pd.DataFrame(
        {
            baseline: first["accuracy_before"].to_numpy(),
            **{title: rows["accuracy_after"].to_numpy() for title, rows in top1.items()},
        },
        index=(first["corruption"].map(corruption_title) + severities).rename("condition"),
    )


STUDY_ROBUSTNESS = JointAudit(
    compute=study_robustness,
    applies=lambda data: data.conditions and data.corrupted_keys,
    shown=ROBUSTNESS,
)
