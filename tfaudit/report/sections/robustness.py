"""What compression costs under corruption."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pandas as pd

from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.analysis.study_data import BASELINE
from tfaudit.audit.corruption.robustness import Robustness, robustness_table
from tfaudit.charts.class_corruptions import class_corruption_chart, largest_change
from tfaudit.charts.corruptions import relative_change_chart, severity_chart
from tfaudit.errors import listed
from tfaudit.report.sections.corruption_tables import cells_table, corruptions_table, flips_table, means_table
from tfaudit.report.sections.section import Figure, Section, Table, grid

__all__ = ["SAYS", "robustness_levels", "robustness_notes", "robustness_section"]

SAYS = (
    "What compression costs where images are corrupted or from elsewhere, which corruptions and classes pay, and "
    "whether it is more than compression costs on clean images."
)


def robustness_section(study_audit: StudyAudit) -> Section | None:
    """Every variant that was evaluated under the study's conditions, against the baseline."""
    found = robustness_levels(study_audit)
    if not found:
        return None
    titled = {study_audit.data.titles[key]: each for key, each in found.items()}
    return Section(
        "robustness",
        "Robustness",
        SAYS,
        "[F] 4 and D, [HD]",
        tuple(_figures(study_audit, found, titled)),
        tuple(_tables(study_audit, titled)),
        robustness_notes(study_audit, found),
        study_audit.most_lost_image(),
    )


def robustness_levels(study_audit: StudyAudit) -> dict[str, Robustness]:
    """The audit of every variant that was evaluated under conditions, by key; none where there is no condition."""
    return (
        {key: study_audit.robustness(key) for key in study_audit.data.corrupted_keys}
        if study_audit.data.conditions
        else {}
    )


def robustness_notes(study_audit: StudyAudit, found: Mapping[str, Robustness]) -> tuple[str, ...]:
    """What a reader has to know of these audits, and of what is missing."""
    told = dict.fromkeys(note for each in found.values() for note in each.notes)
    return (*_missing(study_audit), *_pairs(study_audit), *told)


def _pairs(study_audit: StudyAudit) -> list[str]:
    made = [study_audit.data.titles[key] for key in study_audit.data.corrupted_keys if study_audit.data.is_paired(key)]
    if not made or len(study_audit.data.members[BASELINE]) == 1:
        return []
    return [f"Members of {listed(made)} are tested in pairs with the baseline's members that they are made from."]


def _figures(
    study_audit: StudyAudit, found: Mapping[str, Robustness], titled: dict[str, Robustness]
) -> Iterator[Figure]:
    first = next(iter(found.values()))
    for k in first.overall["k"]:
        yield Figure(
            f"robustness-relative-top{k}",
            relative_change_chart({title: each.changes() for title, each in titled.items()}, k=k),
            f"Change of top-{k} accuracy per corruption, relative to the baseline's, with intervals.",
            f"Relative change, top-{k}",
        )
    if (first.severities["severity"] > 0).any():
        yield Figure(
            "robustness-severity",
            severity_chart(
                {title: each.curves() for title, each in titled.items()}, baseline=study_audit.data.titles[BASELINE]
            ),
            "Accuracy over severity, a panel per corruption, a line per variant.",
            "Accuracy over severity",
        )
    reach = max(
        largest_change(each.classes, each.tested_change) for each in found.values()
    )  # one scale for all variants
    for key, each in found.items():
        if each.classes["difference_pp"].notna().any():
            yield Figure(
                f"robustness-classes-{key}",
                class_corruption_chart(each.classes, each.alpha, change=each.tested_change, reach=reach),
                "Change of recall by class and corruption; a dot where it is significant.",
                f"{study_audit.data.titles[key]}: classes by corruption",
            )


def _tables(study_audit: StudyAudit, titled: dict[str, Robustness]) -> Iterator[Table]:
    first = next(iter(titled.values()))
    if first.overall["accuracy_before"].notna().all():
        yield means_table(titled, study_audit.data.level)
    relative = robustness_table(titled).dropna(how="all")
    relative.columns = pd.Index([", ".join(names) for names in relative.columns])
    yield grid("Relative change of accuracy, % of the baseline's ([F] table 3)", relative, "+.2f")
    yield corruptions_table(titled, study_audit.data.level)
    yield _severities(titled, study_audit.data.titles[BASELINE])
    yield from cells_table(titled)
    yield from flips_table(titled)


def _severities(titled: dict[str, Robustness], baseline: str) -> Table:
    tables = {title: each.severities.query("k == 1") for title, each in titled.items()}
    first = next(iter(tables.values()))
    accuracies = {
        baseline: first["accuracy_before"],
        **{title: each["accuracy_after"] for title, each in tables.items()},
    }
    names = first["corruption"] + first["severity"].map(lambda severity: f" {severity}" if severity else "")
    wide = 100 * pd.DataFrame({title: each.to_numpy() for title, each in accuracies.items()}, index=names)
    table = grid("Top-1 accuracy by severity, %", wide.rename_axis(index="condition"), ".2f")
    return Table(table.title, table.columns, folded=True)


def _missing(study_audit: StudyAudit) -> Iterator[str]:
    """What was asked for and is not there."""
    study, variants, conditions = study_audit.data.study, study_audit.data.corrupted_keys, study_audit.data.conditions
    asked = study.corrupted_variants
    absent = [
        study_audit.data.titles[key]
        for key in study_audit.data.compressed_keys
        if key not in variants and (asked is None or key in asked)
    ]
    if absent:
        yield f"Not evaluated under corruption: {listed(absent)}."
    gone = [condition.title for condition in study.conditions if condition not in conditions]
    if gone:
        yield f"Left out, for not every variant was evaluated there: {listed(gone)}."
    expected = min(study.corrupted_members or study.population, study.population)
    for key in (BASELINE, *variants):
        counts = [len(study_audit.data.evaluated_members(key, condition)) for condition in conditions]
        members = len(study_audit.data.members[key])
        few = sum(count < min(expected, members) for count in counts)
        if few:
            title = study_audit.data.titles[key]
            yield f"{title}: fewer than {expected} members under {few} of {len(conditions)} conditions."
        elif min(counts) < members:
            yield f"{study_audit.data.titles[key]}: {min(counts)} of {members} members were evaluated."
