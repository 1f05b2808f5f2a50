"""From what was clicked in a chart or table to what it stands for: the images of a class, a group or a variant."""

from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd

from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.analysis.study_data import BASELINE
from tfaudit.app.controls import Clicks, on_selection, set_variant, variant_labels
from tfaudit.app.display import POINT, go_to_later
from tfaudit.app.exemplars import ALL, CHANGED, UNCHANGED
from tfaudit.app.markdown import unique_labels
from tfaudit.app.quantities import range_text
from tfaudit.audits.intersections.intersections import CLASS
from tfaudit.charts.style import distinct_names

RANGE = ("range_low", "range_high")
FIELDS = (
    "title",
    "class",
    "group",
    "individual",
    "unit",
    "attribute",
    "value",
    "grouping",
    "worst_group",
    "quantity",
    *RANGE,
)
"""Columns of charts that say what a mark stands for."""

KINDS = {"PIE": CHANGED, "non-PIE": UNCHANGED, "all": ALL}
"""Filter of the gallery by set of images whose difficulty a chart shows."""


def open_variant(study_audit: StudyAudit, title: str | None) -> None:
    """Lead to the page of a variant that was clicked in a chart or table; the baseline has none."""
    titles = study_audit.data.titles
    labels = variant_labels(study_audit)
    keys = [key for key in study_audit.data.compressed_keys if title in (titles[key], labels[key])]
    for key in keys[:1]:
        set_variant(study_audit, title)
        go_to_later("classes" if key in study_audit.summary.impacts else "compare")


def show_images(study_audit: StudyAudit, row: Mapping[str, Any], **choices: str) -> None:
    """Lead to the images that a row or point stands for, by its columns; one of the baseline alone leads nowhere.

    Args:
        study_audit: of the study.
        row: its `title` is a variant, its `class` a class, and `group` a set of `KINDS`, or a group of the column, or
            of the columns and classes, that `grouping` names; `quantity` with `RANGE` one of `exemplars.quantities`;
            further see `FIELDS`.
        **choices: of the gallery, where others than those of the row.
    """
    known = {
        name: str(value) for name, value in row.items() if isinstance(value, str) or pd.notna(value)
    }
    if known.get("title") == study_audit.data.titles[BASELINE]:
        return
    chosen: dict[str, Any] = {"class": None, "attribute": None, "show": None}
    chosen |= {"exemplars": None, "page": None, "from": None, "to": None}
    groups = dict(_groups(study_audit, known))
    if CLASS in groups:
        chosen[CLASS] = next(iter(_labels(study_audit, groups.pop(CLASS))), None)
    if groups:
        chosen |= {
            "attribute": [f"{column}: {value}" for column, value in groups.items()],
            "show": ALL,
        }
        chosen["order"] = "most right votes lost"
    if {"quantity", *RANGE} <= set(known):
        within = range_text(known["quantity"], *(float(known[end]) for end in RANGE))
        chosen |= {
            "attribute": [*(chosen["attribute"] or []), within],
            "show": ALL,
            "order": "most right votes lost",
        }
    if known.get("group") in KINDS:
        chosen["show"] = {**KINDS, "PIE": None}[known["group"]]
    set_variant(study_audit, known.get("title"))
    go_to_later("exemplars", **chosen | choices)


def _groups(study_audit: StudyAudit, row: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return the class, and the columns with their groups, that a row names."""
    individuals = study_audit.data.individuals
    named = []
    if CLASS in row:
        named.append((CLASS, row[CLASS]))
    if "attribute" in row and "value" in row:
        named.append((row["attribute"], row["value"]))
    if individuals is not None and (one := row.get("individual", row.get("unit"))) is not None:
        named.append((str(individuals.name), one))
    group = row.get("group", row.get("worst_group"))
    if "grouping" in row and group is not None:
        columns = (CLASS, *study_audit.data.group_columns)
        for first in columns:
            if row["grouping"] == first:
                named.append((first, group))
            for second in columns:
                if row["grouping"] == f"{first} and {second}":
                    named += zip(
                        (first, second), _parts(study_audit, first, second, group), strict=True
                    )
    return named


def _parts(study_audit: StudyAudit, first: str, second: str, group: str) -> tuple[str, str]:
    """Return the two groups that the name of an intersection joins; a comma may be part of either."""
    values = {_name: _values(study_audit, _name) for _name in (first, second)}
    ends = [i for i in range(len(group)) if group.startswith(", ", i)]
    pairs = [(group[:i], group[i + 2 :]) for i in ends]
    return next(pair for pair in pairs if pair[0] in values[first] and pair[1] in values[second])


def _values(study_audit: StudyAudit, column: str) -> set[str]:
    if column == CLASS:
        return set(study_audit.counts(BASELINE).class_names)
    return set(study_audit.data.groups[column].astype(str))


def _labels(study_audit: StudyAudit, name: str) -> list[str]:
    """Return the label in choices of a class, whose name in a chart may hold its index."""
    names = study_audit.counts(BASELINE).class_names
    distinct = distinct_names(pd.Series(names)).tolist()
    labels = unique_labels(names)
    return [label for label, *its in zip(labels, distinct, names, strict=True) if name in its][:1]


def on_rows(key: str, rows: pd.DataFrame, act: Callable[[Mapping[str, Any]], None]) -> Clicks:
    """Return what makes a table pass the row that is clicked to a function; see `controls.on_selection`."""

    def choose_row(selection: Any) -> None:
        for row, _ in selection["cells"]:
            act({str(name): value for name, value in rows.iloc[row].items()})

    return on_selection(key, None, choose_row)


def on_points(key: str, act: Callable[[Mapping[str, Any]], None]) -> Clicks:
    """Return what makes a chart pass the fields of the mark that is clicked to a function."""

    def choose_point(selection: Any) -> None:
        for point in selection.get(POINT, ()):
            act(point)

    return on_selection(key, None, choose_point)
