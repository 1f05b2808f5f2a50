"""Links from marks of a chart and rows of a table to what they stand for: images of a class, a group or a variant."""

import itertools
from collections.abc import Mapping
from typing import Any

import pandas as pd

from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.analysis.study_data import BASELINE
from tfaudit.app.controls import class_label, set_variant, variant_labels
from tfaudit.app.display import go_to_later
from tfaudit.app.image_panel import open_image
from tfaudit.app.quantities import range_text
from tfaudit.audits.flips.image_changes import UNCHANGED

CLASS = "class"
"""Column of the class of a mark or row, and what links call it."""

CHANGED, ALL = "changed", "all examples"
"""Kinds of images in the gallery, beside those of `image_changes`."""

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

KINDS = {"PIE": None, "non-PIE": UNCHANGED, "all": ALL}
"""Filter of the gallery by set of images whose difficulty a chart shows; None for its default."""


def open_variant(study_audit: StudyAudit, row: Mapping[str, Any]) -> None:
    """Lead to the page of the variant of a row or mark, by its `title`; the baseline has none."""
    labels = variant_labels(study_audit)
    for key in study_audit.data.compressed_keys:
        if row.get("title") in (study_audit.data.titles[key], labels[key]):
            page = "classes" if key in study_audit.summary.impacts else "compare"
            go_to_later(page, variant=labels[key])
            return


def show_corruption(study_audit: StudyAudit, row: Mapping[str, Any]) -> None:
    """Lead to the image that a variant or a class loses most under a corruption.

    Args:
        study_audit: the study and its audits.
        row: its `corruption`, its `class`, and the variant, as its `title` or, in charts, its `level`.
    """
    data = study_audit.data
    chosen: dict[str, str | None] = {"corruptions": "One image", "picture": None}
    computed = {condition.corruption for condition in data.conditions if condition.is_computed}
    corruption = row.get("corruption")
    chosen["corruption"] = corruption if corruption in computed else None
    if (name := row.get(CLASS)) is not None:
        chosen[CLASS] = class_label(study_audit.counts(BASELINE).class_names, name)
    set_variant(study_audit, row.get("title", row.get("level")))
    go_to_later("corruptions", **chosen)


def show_images(study_audit: StudyAudit, row: Mapping[str, Any], **choices: str) -> None:
    """Lead to the images that a row or point stands for, by its columns; one of the baseline alone leads nowhere.

    Args:
        study_audit: the study and its audits.
        row: its `title` is a variant, its `class` a class, its `unit` an individual, or an image where there are none,
            and `group` a set of `KINDS`, or a group of the column, or of the columns and classes, that `grouping`
            names; `quantity` with `RANGE` one of `exemplars.quantities`; further see `FIELDS`.
        **choices: of the gallery, where others than those of the row.
    """
    known = {
        name: str(value) for name, value in row.items() if isinstance(value, str) or pd.notna(value)
    }
    if known.get("title") == study_audit.data.titles[BASELINE]:
        return
    if "unit" in known and study_audit.data.individuals is None:
        open_image(int(known["unit"]))
        return
    filters = (CLASS, "attribute", "show", "exemplars", "page", "from", "to")
    chosen: dict[str, Any] = dict.fromkeys(filters)
    groups = _groups(study_audit, known)
    if CLASS in groups:
        names = study_audit.counts(BASELINE).class_names
        chosen[CLASS] = class_label(names, groups.pop(CLASS))
    attributes = [f"{column}: {value}" for column, value in groups.items()]
    if {"quantity", *RANGE} <= set(known):
        ends = (float(known[end]) for end in RANGE)
        attributes.append(range_text(known["quantity"], *ends))
    if attributes:
        chosen |= {"attribute": attributes, "show": ALL, "order": "most right votes lost"}
    if known.get("group") in KINDS:
        chosen["show"] = KINDS[known["group"]]
    set_variant(study_audit, known.get("title"))
    go_to_later("exemplars", **chosen | choices)


def _groups(study_audit: StudyAudit, row: Mapping[str, str]) -> dict[str, str]:
    """Return the class, and the columns with their groups, that a row names."""
    individuals = study_audit.data.individuals
    named = {CLASS: row[CLASS]} if CLASS in row else {}
    if "attribute" in row and "value" in row:
        named[row["attribute"]] = row["value"]
    if individuals is not None and (one := row.get("individual", row.get("unit"))) is not None:
        named[str(individuals.name)] = one
        return named
    group = row.get("group", row.get("worst_group"))
    grouping = row.get("grouping")
    columns = (CLASS, *study_audit.data.group_columns)
    if grouping is None or group is None:
        return named
    if grouping in columns:
        named[grouping] = group
    for first, second in itertools.product(columns, columns):
        if grouping == f"{first} and {second}":
            named[first], named[second] = _parts(study_audit, (first, second), group)
    return named


def _parts(study_audit: StudyAudit, columns: tuple[str, str], group: str) -> tuple[str, str]:
    """Return the two groups that the name of an intersection joins; a comma may be part of either."""
    first, second = (
        set(study_audit.counts(BASELINE).class_names)
        if column == CLASS
        else set(study_audit.data.groups[column].astype(str))
        for column in columns
    )
    ends = [i for i in range(len(group)) if group.startswith(", ", i)]
    pairs = [(group[:i], group[i + 2 :]) for i in ends]
    return next(pair for pair in pairs if pair[0] in first and pair[1] in second)
