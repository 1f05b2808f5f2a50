"""Whom compression hurts: groups and individuals."""

from __future__ import annotations

from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.audit.attributes import MANY, Attributes
from tfaudit.audit.groups import Groups
from tfaudit.report.sections.section import Figure, Section, Table, column

__all__ = ["SAYS", "attributes_section", "groups_section"]

SAYS = (
    "Accuracy before and after for every group of examples that the data name, tested against the change of the "
    "overall accuracy, and for every individual with a line per group: whom the average hides."
)
"""Of the section on groups."""

HARDEST_HIT = 10
"""Individuals in the table of those who lose most."""


def groups_section(study_audit: StudyAudit) -> Section | None:
    """Accuracy before and after per group, and per individual where a column names them."""
    names, people = study_audit.data.group_columns, study_audit.data.individuals
    if not names and people is None:
        return None
    columns: list[str | None] = [*names] or [None]
    found = {(key, name): study_audit.groups(key, name) for key in study_audit.data.compressed_keys for name in columns}
    first = {key: each for (key, name), each in found.items() if name == columns[0]}
    figures = [
        Figure(
            f"groups-{key}",
            each.chart(),
            "Accuracy of every group before and after; a point per individual where they are known.",
            study_audit.data.titles[key],
        )
        for key, each in first.items()
    ]
    tables = [_table(each, study_audit.data.titles[key]) for (key, _), each in found.items()]
    tables += [_hardest_hit(each, study_audit.data.titles[key]) for key, each in first.items() if len(each.individuals)]
    return Section(
        "groups",
        "Groups",
        SAYS,
        "[P] 4.1",
        tuple(figures),
        tuple(tables),
        tuple(dict.fromkeys(note for each in found.values() for note in each.notes)),
    )


def attributes_section(study_audit: StudyAudit) -> Section | None:
    """Which groups the exemplars come from more often than other images do."""
    if not study_audit.data.group_columns or not study_audit.summary.exemplars:
        return None
    found = {key: study_audit.attributes(key) for key in study_audit.data.compressed_keys}
    found = {key: each for key, each in found.items() if each.pies and each.others}
    if not found:
        return None
    return Section(
        "attributes",
        "Attributes of the exemplars",
        "Which attributes PIEs have more often (ratio above 1) or less often than the other images.",
        "[F] 3.2",
        tuple(
            Figure(
                f"attributes-{key}", each.chart(), "Share of PIEs and of other images.", study_audit.data.titles[key]
            )
            for key, each in found.items()
        ),
        tuple(_over_indexing(each, study_audit.data.titles[key]) for key, each in found.items()),
        tuple(dict.fromkeys(note for each in found.values() for note in each.notes)),
    )


def _table(found: Groups, title: str) -> Table:
    frame = found.frame()
    return Table(
        f"{title}: by {found.name}",
        (
            column(frame, "group", found.name),
            column(frame, "examples", "images", ",d"),
            column(frame, "accuracy_before", "accuracy before, %", ".2f", scale=100),
            column(frame, "accuracy_after", "after, %", ".2f", scale=100),
            column(frame, "difference_pp", "change", "+.2f", meaning="percentage points"),
            column(frame, "normalised_pp", "normalised", "+.2f", meaning="less the change of the overall accuracy"),
            column(frame, "p", "p", ".2g"),
            column(frame, "p_holm", "p, Holm", ".2g"),
            column(frame, "direction", "direction"),
        ),
        folded=len(frame) > 12,
    )


def _hardest_hit(found: Groups, title: str) -> Table:
    frame = found.individuals_frame().sort_values(["difference_pp", "examples"], kind="stable").head(HARDEST_HIT)
    return Table(
        f"{title}: the {len(frame)} individuals who lose most, of {len(found.individuals):,}",
        (
            column(frame, "individual", "individual"),
            column(frame, "group", found.name),
            column(frame, "examples", "images", ",d"),
            column(frame, "accuracy_before", "accuracy before, %", ".1f", scale=100),
            column(frame, "accuracy_after", "after, %", ".1f", scale=100),
            column(frame, "difference_pp", "change", "+.1f", meaning="percentage points"),
        ),
        folded=True,
    )


def _over_indexing(found: Attributes, title: str) -> Table:
    frame = found.frame().sort_values("p", kind="stable").head(MANY)
    frame["name"] = frame["attribute"].where(frame["value"] == "yes", frame["attribute"] + ": " + frame["value"])
    return Table(
        f"{title}: {found.pies:,} PIEs and {found.others:,} other images",
        (
            column(frame, "name", "attribute"),
            column(frame, "share_pie", "of PIEs, %", ".1f", scale=100),
            column(frame, "share_non_pie", "of others, %", ".1f", scale=100),
            column(frame, "ratio", "ratio", ".2f"),
            column(frame, "p", "p", ".2g"),
            column(frame, "p_holm", "p, Holm", ".2g"),
            column(frame, "test", "test"),
        ),
        folded=len(frame) > 12,
    )
