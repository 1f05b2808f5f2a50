"""Audits of all variants side by side, registered once: their sections in the report, their tabs in the viewer.

They join results of `AUDITS`, which are cached, and are computed when they are shown.
"""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd

from tfaudit.analysis.audits import pruned_variants, sparsity_of
from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.analysis.study_data import BASELINE
from tfaudit.audits.accuracies.accuracies import Accuracies, accuracies
from tfaudit.audits.accuracies.declaration import ACCURACIES
from tfaudit.audits.claims.claims import Claims, claims
from tfaudit.audits.claims.declaration import CLAIMS
from tfaudit.audits.class_recalls.class_recalls import ClassRecalls, class_recalls
from tfaudit.audits.class_recalls.declaration import CLASS_RECALLS
from tfaudit.audits.declaration import Declaration
from tfaudit.audits.difficulty.declaration import EXEMPLAR_LEVELS
from tfaudit.audits.difficulty.difficulty import DifficultyLevels, difficulty_levels
from tfaudit.audits.remedies.declaration import REMEDIES
from tfaudit.audits.remedies.remedies import Remedies, remedies
from tfaudit.stats.ratios import member_mean
from tfaudit.study.variants import Quantized, Remedied


@dataclasses.dataclass(frozen=True, kw_only=True)
class Across:
    """One audit of all variants.

    Attributes:
        shown: how it is presented to readers.
        compute: takes the audits of a study; returns a result with `.frame()`, `.summary()`, `.chart()`, perhaps
            `.tables()` and `notes`, or None where the study lacks what it `takes`.
        takes: requirement that not every study meets, in words.
    """

    shown: Declaration
    compute: Callable[[StudyAudit], Any]
    takes: str = ""


def _accuracies(study_audit: StudyAudit) -> Accuracies | None:
    """Return the accuracies of the members; None where every variant has one, whose accuracy other tables have."""
    table = study_audit.summary.accuracies
    return accuracies(table) if table["member"].nunique() > 1 else None


def _difficulty(study_audit: StudyAudit) -> DifficultyLevels | None:
    titles = study_audit.data.titles
    found = {titles[key]: result for key, result in study_audit.summary.exemplars.items()}
    return difficulty_levels(found) if found else None


def _claims(study_audit: StudyAudit) -> Claims | None:
    titles = study_audit.data.titles
    impacts = study_audit.summary.impacts
    frames = {key: impact.frame() for key, impact in impacts.items()}
    frames |= {key: pair.frame() for key, pair in study_audit.model_pairs.items()}
    changes = {
        titles[key]: frames[key] for key in study_audit.data.compressed_keys if key in frames
    }
    return claims(changes, alpha=study_audit.data.alpha) if changes else None


def _class_recalls(study_audit: StudyAudit) -> ClassRecalls | None:
    """Return the recalls over the sparsities of pruned variants; None if no method has two levels."""
    data = study_audit.data
    rows = []
    for key, variant in pruned_variants(data).items():
        described: dict[Any, Any] = {
            "method": variant.pruning_method(*data.study.varied_settings),
            "level": sparsity_of(data, key, variant),
        }
        rows.append(described | dict(enumerate(member_mean(study_audit.counts(key).recall))))
    recalls = pd.DataFrame(rows)
    if (
        recalls.empty
        or recalls["level"].isna().any()
        or recalls.groupby("method")["level"].nunique().max() < 2
    ):
        return None
    counted = study_audit.counts(BASELINE)
    before = pd.Series(member_mean(counted.recall))
    before.attrs["class_names"] = counted.class_names
    return class_recalls(recalls, before)


def _remedies(study_audit: StudyAudit) -> Remedies | None:
    """Return the comparison of remedies with their controls; None if the study has no such pair of variants."""
    data = study_audit.data
    trios = {}
    notes = []
    for key in data.compressed_keys:
        variant = data.study.variant(key)
        title = data.titles[key]
        if (
            not isinstance(variant, Remedied)
            or not variant.remedies
            or variant.control.key not in data.compressed_keys
        ):
            continue
        trios[title] = data.baseline, data.populations[variant.control.key], data.populations[key]
        if isinstance(variant, Quantized):
            notes.append(f"{title}: the control is quantized without further training.")
    if not trios:
        return None
    made = remedies(trios, alpha=data.alpha)
    return dataclasses.replace(made, notes=(*made.notes, *notes))


_ALL = (
    Across(shown=ACCURACIES, compute=_accuracies, takes="several members of a variant"),
    Across(shown=CLAIMS, compute=_claims, takes="classes compared with the baseline's"),
    Across(
        shown=REMEDIES,
        compute=_remedies,
        takes='variants with a remedy, such as `Pruned(0.9, treatment="finetune", remedy="distillation")`',
    ),
    Across(
        shown=CLASS_RECALLS,
        compute=_class_recalls,
        takes="one pruning method at two sparsities or more",
    ),
    Across(
        shown=EXEMPLAR_LEVELS,
        compute=_difficulty,
        takes="exemplars, and so several members of a variant",
    ),
)

ACROSS: Mapping[str, Across] = {audit.shown.name: audit for audit in _ALL}
"""Audits by name, in the order of the report and of the tabs."""
