"""Robustness: the cost of compression under corruption; made by hand because its charts and tables join them."""

from collections.abc import Iterator, Mapping

import pandas as pd

from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.analysis.study_data import BASELINE, StudyData
from tfaudit.audits.robustness.declaration import ROBUSTNESS
from tfaudit.audits.robustness.robustness import Robustness, robustness_table
from tfaudit.charts.renderer import can_draw
from tfaudit.datasets.corruptions.registry import corruption_title
from tfaudit.errors import listed
from tfaudit.outlets.columns import Column, signed
from tfaudit.outlets.grid import Grid, crosstab
from tfaudit.outlets.sections.audit import Shown, joint_table
from tfaudit.outlets.sections.section import Figure, Section, notes_of
from tfaudit.stats.multiplicity import adjust

ACCURACY = Column("accuracy", ".2f")


def robustness_section(study_audit: StudyAudit) -> Section | None:
    """Return a comparison with the baseline for every variant that was evaluated under the study's conditions."""
    results = robustness_levels(study_audit)
    if not results:
        return None
    titled = {study_audit.data.titles[key]: result for key, result in results.items()}
    return Section.of(
        ROBUSTNESS,
        [*_figures(study_audit, results, titled)],
        [*_tables(study_audit, titled)],
        robustness_notes(study_audit, results),
        strip=study_audit.most_lost_image(),
        findings=excess_findings(titled),
    )


def excess_findings(titled: Mapping[str, Robustness]) -> list[str]:
    """Return sentences on what loses more under corruption than on clean images, in the mean and in single ones."""
    facts = {title: result.summary() for title, result in titled.items()}
    known = {title: row for title, row in facts.items() if pd.notna(row["excess_high_pp"])}
    if not known:
        return []
    more = "more in the mean over the corruptions than on clean images"
    shown = [
        f"{title} loses {-row['excess_pp']:.1f} points {more} "
        f"({signed(-row['excess_high_pp'])} to {signed(-row['excess_low_pp'])})."
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


def robustness_levels(study_audit: StudyAudit) -> dict[str, Robustness]:
    """Return the audit of every variant that was evaluated under conditions, by key; {} without conditions."""
    data = study_audit.data
    keys = data.corrupted_keys if data.conditions else ()
    return {key: study_audit.robustness(key) for key in keys}


def robustness_notes(study_audit: StudyAudit, results: Mapping[str, Robustness]) -> tuple[str, ...]:
    """Return the notes of these audits, and notes on planned evaluations that are missing."""
    return (*_design_notes(study_audit), *notes_of(results.values()))


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


def _design_notes(study_audit: StudyAudit) -> Iterator[str]:
    """Yield notes on what the study plans but lacks, and on variants that are tested in pairs."""
    data = study_audit.data
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


def _figures(
    study_audit: StudyAudit, results: Mapping[str, Robustness], titled: Mapping[str, Robustness]
) -> Iterator[Figure]:
    if not can_draw():
        return
    from tfaudit.audits.robustness.chart import relative_change_chart, severity_chart
    from tfaudit.audits.robustness.class_chart import class_corruption_chart, largest_change

    titles = study_audit.data.titles
    first = next(iter(results.values()))
    changes = {title: result.changes() for title, result in titled.items()}
    for k in first.overall["k"]:
        description = f"Change of top-{k} accuracy per corruption, relative to the baseline's, with intervals."
        chart = relative_change_chart(changes, k=k)
        yield Figure(f"robustness-relative-top{k}", chart, description, f"Relative change, top-{k}")
    if (first.severities["severity"] > 0).any():
        description = "Accuracy over severity, a panel per corruption, a line per variant."
        curves = {title: result.curves() for title, result in titled.items()}
        chart = severity_chart(curves, baseline=titles[BASELINE])
        yield Figure("robustness-severity", chart, description, "Accuracy over severity")
    # All variants share one scale.
    reach = max(largest_change(result.classes) for result in results.values())
    description = (
        "Change of recall by class and corruption; a dot where recall is lost or gained after Holm."
    )
    for key, result in results.items():
        if result.classes["change_pp"].notna().any():
            chart = class_corruption_chart(result.classes, reach=reach)
            title = f"{titles[key]}: classes by corruption"
            name = f"robustness-classes-{key}"
            yield Figure(name, chart, description, title, variant=titles[key])


def _tables(study_audit: StudyAudit, titled: Mapping[str, Robustness]) -> Iterator[Grid]:
    baseline = study_audit.data.titles[BASELINE]
    first = next(iter(titled.values()))
    shown = [Shown(result, title) for title, result in titled.items()]
    declared = {
        name: joint_table(ROBUSTNESS.tables[name], shown)
        for name in ("means", "corruptions", "cells", "flips")
    }
    if first.overall["accuracy_before"].notna().all():
        yield declared["means"]
    title = "Relative change of accuracy, % of the baseline's ([F] table 3)"
    yield crosstab(title, _by_corruption(robustness_table(titled)), Column("change", "+.2f"))
    yield declared["corruptions"]
    yield _severity_table(titled, baseline)
    for name in ("cells", "flips"):
        if declared[name].columns[0].cells:
            yield declared[name]
    absolute = robustness_table(titled, relative=False, baseline=baseline)
    title = "Accuracy over levels, % ([F] tables 3 and 8)"
    yield crosstab(title, _by_corruption(absolute), ACCURACY, folded=True)


def _by_corruption(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table with its corruptions in words and headings of one line."""
    table = table.dropna(how="all").rename(index=corruption_title)
    return table.set_axis([", ".join(names) for names in table.columns], axis=1)


def _severity_table(titled: Mapping[str, Robustness], baseline: str) -> Grid:
    """Return a table of top-1 accuracy with one row per condition and one column per variant."""
    top1 = {title: result.severities.query("k == 1") for title, result in titled.items()}
    first = next(iter(top1.values()))
    severities = first["severity"].map(lambda severity: f" {severity}" if severity else "")
    percent = 100 * pd.DataFrame(
        {
            baseline: first["accuracy_before"].to_numpy(),
            **{title: rows["accuracy_after"].to_numpy() for title, rows in top1.items()},
        },
        index=(first["corruption"].map(corruption_title) + severities).rename("condition"),
    )
    return crosstab("Top-1 accuracy by severity, %", percent, ACCURACY, folded=True)
