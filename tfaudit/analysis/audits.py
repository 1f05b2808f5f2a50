"""Every audit of the variants of a study, registered once.

A row of `AUDITS` drives what is computed ahead, how it is cached, and where it appears: the report has a section and
the viewer a page for every audit that is `shown`.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd

from tfaudit.analysis.study_data import BASELINE, StudyData
from tfaudit.audits.attributes.attributes import Attributes, attributes
from tfaudit.audits.attributes.declaration import ATTRIBUTES
from tfaudit.audits.chance.declaration import CHANCE
from tfaudit.audits.classes.classes import CENTERINGS, ClassImpact, class_impact
from tfaudit.audits.classes.declaration import CLASSES
from tfaudit.audits.declaration import Declaration
from tfaudit.audits.flips.declaration import NEGATIVE_FLIPS
from tfaudit.audits.flips.negative_flips import NegativeFlips, flip_rates
from tfaudit.audits.gate.measurements import Measurements, measure
from tfaudit.audits.groups.declaration import GROUPS
from tfaudit.audits.groups.groups import Groups, groups
from tfaudit.audits.model_pair.declaration import MODEL_PAIR
from tfaudit.audits.model_pair.model_pair import PairComparison, compare
from tfaudit.audits.prediction_counts.prediction_counts import PredictionCounts, count_predictions
from tfaudit.audits.robustness.declaration import OF_ONE_VARIANT
from tfaudit.audits.robustness.robustness import Robustness, robustness
from tfaudit.audits.summary.summary import VariantAudit, audit_variant
from tfaudit.errors import require
from tfaudit.extensions import Registry
from tfaudit.study.variants import Pruned


def _populations(data: StudyData, key: str) -> bool:
    return key != BASELINE and min(len(data.members[BASELINE]), len(data.members[key])) > 1


def measurable(data: StudyData, key: str) -> bool:
    """Return whether a gate can measure a variant: one model against one, or populations."""
    return key != BASELINE and (data.is_single(key) or _populations(data, key))


def _has_chance(data: StudyData, key: str) -> bool:
    """Return whether members can be reassigned: three or more, which have their parents if they are paired."""
    if key == BASELINE or not data.permutation_options["permutations"]:
        return False
    before, after = data.members[BASELINE], data.members[key]
    return len(before) + len(after) > 2 and (not data.is_paired(key) or {*before} == {*after})


def made_from_dense(data: StudyData, key: str) -> bool:
    """Return whether each model of a variant was made from one of the baseline's, and both have probabilities."""
    made = key != BASELINE and (data.is_single(key) or data.is_paired(key))
    return made and data.has_probabilities(key)


def _of_variants(data: StudyData, key: str) -> Mapping[str, Any]:
    return {"alpha": data.alpha, "variants": len(data.compressed_keys)}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Audit:
    """One audit of a variant.

    Attributes:
        name: name of its cached results, and of the method of `StudyAudit` that gives them.
        result: type of the result; a frozen dataclass with `.frame()`, `.summary()` and `.chart()`, or a table.
        compute: takes the study's data, the key of the variant, the options and the arguments; returns the result.
        part: attribute of the result of "variant" that holds this one, which needs no `compute` then.
        applies: takes the data and a key; whether the study allows this audit of the variant.
        variants: takes a key; the variants whose predictions the audit uses.
        options, arguments: take the data and a key; the options of `compute`, plain JSON values, and the further
            arguments of each result that is computed ahead.
        depends_on: takes the data and a key; what else the result depends on, plain JSON values.
        shown: how it is presented to readers; None if it is part of other sections.
        gallery: takes the `StudyAudit`; heading and cards of the images that a report shows; None without images.
    """

    name: str
    result: Any = None
    compute: Callable[..., Any] | None = None
    part: str = ""
    applies: Callable[[StudyData, str], bool] = lambda data, key: key != BASELINE
    variants: Callable[[str], tuple[str, ...]] = lambda key: (BASELINE, key)
    options: Callable[[StudyData, str], Mapping[str, Any]] = lambda data, key: {"alpha": data.alpha}
    arguments: Callable[[StudyData, str], Sequence[Mapping[str, Any]]] = lambda data, key: ({},)
    depends_on: Callable[[StudyData, str], object] = lambda data, key: None
    shown: Declaration | None = None
    gallery: Callable[[Any], tuple[str, Sequence[Any]]] | None = None


def compared(audit: Callable[..., Any], *, by_groups: bool = False) -> Callable[..., Any]:
    """Return a function that compares a variant with the baseline, with all columns of groups if `by_groups`."""

    def compute(data: StudyData, key: str, **options: Any) -> Any:
        columns = [data.groups[data.group_columns]] if by_groups else []
        return audit(data.baseline, data.populations[key], *columns, **options)

    return compute


def _groups(data: StudyData, key: str, *, column: str | None = None, alpha: float) -> Groups:
    columns = data.group_columns
    require(column is None or column in columns, "column", column, ", ".join(columns))
    whole = pd.Series("all", index=data.groups.index, name="group")
    belongs = whole if column is None else data.groups[column]
    return groups(
        data.baseline, data.populations[key], belongs, individuals=data.individuals, alpha=alpha
    )


def _robustness(data: StudyData, key: str, *, alpha: float) -> Robustness:
    sides = (data.under_conditions(side, data.conditions) for side in (BASELINE, key))
    return robustness(*sides, clean=(data.baseline, data.populations[key]), alpha=alpha)


def _measured_under_corruption(data: StudyData, key: str, **options: Any) -> Measurements:
    measured = measure(data.baseline, data.populations[key], **options)
    return measured.with_corruptions(data.corrupted_pair(key))


def _under_corruption(data: StudyData, key: str) -> bool:
    return bool(data.conditions) and key in data.corrupted_keys


def _evaluations(data: StudyData, key: str) -> object:
    return [
        data.conditions,
        data.conditions_of(key),
        *(data.fingerprints.evaluations[k] for k in (BASELINE, key)),
    ]


def added_groups(data: StudyData, _: str) -> object:
    """Return what an audit of named groups depends on."""
    return data.groups_fingerprint


ONE_POPULATION: dict[str, Any] = {
    "applies": lambda data, key: True,
    "variants": lambda key: (key,),
    "options": lambda data, key: {},
}
"""Fields of an audit of one population, compressed or not."""

_ALL = (
    Audit(
        name="counts",
        result=PredictionCounts,
        compute=lambda data, key: count_predictions(data.populations[key]),
        **ONE_POPULATION,
    ),
    Audit(
        name="variant",
        result=VariantAudit,
        compute=lambda data, key, **options: audit_variant(
            data.baseline, data.populations[key] if key != BASELINE else None, **options
        ),
        applies=lambda data, key: True,
        options=lambda data, key: {
            "alpha": data.alpha,
            **data.permutation_options,
            "paired": data.is_paired(key),
        },
    ),
    Audit(
        name="measurements",
        result=Measurements,
        compute=compared(measure),
        options=_of_variants,
        applies=measurable,
    ),
    Audit(
        name="corrupted_measurements",
        result=Measurements,
        compute=_measured_under_corruption,
        options=_of_variants,
        applies=lambda data, key: measurable(data, key) and key in data.corrupted_keys,
        arguments=lambda data, key: (),  # only for a limit on the drop under corruption
        depends_on=_evaluations,
    ),
    Audit(name="classes", part="impact", applies=_populations, shown=CLASSES),
    Audit(
        name="centred_classes",
        result=ClassImpact,
        compute=compared(class_impact),
        applies=_populations,
        # "classes" has the first.
        arguments=lambda data, key: [{"centering": name} for name in CENTERINGS[1:]],
    ),
    Audit(name="exemplars", part="exemplars"),
    Audit(name="chance", part="chance", applies=_has_chance, shown=CHANCE),
    Audit(
        name="model_pair",
        result=PairComparison,
        compute=compared(compare),
        applies=lambda data, key: key != BASELINE and data.is_single(key),
        shown=MODEL_PAIR,
    ),
    Audit(
        name="negative_flips",
        result=NegativeFlips,
        compute=compared(flip_rates),
        shown=NEGATIVE_FLIPS,
    ),
    Audit(
        name="groups",
        result=Groups,
        compute=_groups,
        applies=lambda data, key: (
            key != BASELINE and bool(data.group_columns or data.individuals is not None)
        ),
        arguments=lambda data, key: [
            {"column": column} for column in data.group_columns or (None,)
        ],
        depends_on=added_groups,
        shown=GROUPS,
    ),
    Audit(
        name="attributes",
        result=Attributes,
        compute=compared(attributes, by_groups=True),
        applies=lambda data, key: key != BASELINE and bool(data.group_columns),
        depends_on=added_groups,
        shown=ATTRIBUTES,
    ),
    Audit(
        name="robustness",
        result=Robustness,
        compute=_robustness,
        applies=_under_corruption,
        depends_on=_evaluations,
        shown=OF_ONE_VARIANT,
    ),
)

AUDITS = Registry("audits", {audit.name: audit for audit in _ALL})
"""Audits by name, in the order of the report and of the viewer's menu; those of extensions come last."""


def pruned_variants(data: StudyData) -> dict[str, Pruned]:
    """Return the pruned variants that have members, by key."""
    variants = {key: data.study.variant(key) for key in data.compressed_keys}
    return {key: variant for key, variant in variants.items() if isinstance(variant, Pruned)}
