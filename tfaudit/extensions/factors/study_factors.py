"""The regressions of a study, or of several together."""

import contextlib
from collections.abc import Sequence
from typing import Any

import pandas as pd

from tfaudit.analysis.across_studies import AcrossStudies
from tfaudit.analysis.audits import pruned_variants
from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.analysis.study_data import BASELINE, StudyData
from tfaudit.errors import InputError
from tfaudit.extensions.factors.class_table import class_table
from tfaudit.extensions.factors.joint_audit import pruned_keys
from tfaudit.extensions.factors.regression import Factors, factors, factors_glm
from tfaudit.predictions import Predictions
from tfaudit.study.variants import Pruned


def sparsity_of(data: StudyData, key: str, variant: Pruned) -> float | None:
    """Return the sparsity of a pruned variant; the mean of its members if it is pruned by a ratio."""
    return variant.sparsity if variant.ratio is None else data.means(key, ["sparsity"])["sparsity"]


def factor_table(data: StudyData, keys: Sequence[str]) -> pd.DataFrame:
    """Return the class accuracies under pruned variants and what may explain them, the input of `factors_of`."""
    varied = [name for name in data.study.varied_settings if name != "treatment"]
    variants = pruned_variants(data)
    descriptions = {
        key: {
            "dataset": str(data.study.dataset),
            "model": str(data.study.model),
            "technique": variants[key].pruning_method(*varied),
            "weight_treatment": variants[key].treatment,
            "sparsity": sparsity_of(data, key, variants[key]),
        }
        for key in keys
    }
    populations = {BASELINE: data.baseline} | {key: _unpaired(data, key) for key in keys}
    described = pd.DataFrame.from_dict(descriptions, orient="index")
    return class_table(populations, described, data.store.table("classes"), baseline=BASELINE)


def factors_of(table: pd.DataFrame, alpha: float) -> tuple[Factors, ...]:
    """Return the least-squares and the binomial model of class accuracy of a `factor_table`; () if neither fits.

    With few classes the quartiles are left out.
    """
    for without in ((), ("accuracy0_quartile", "accuracy0:accuracy0_quartile")):
        with contextlib.suppress(InputError):  # collinear covariates, too few rows, separation
            options: dict[str, Any] = {"without": without, "confidence": 1 - alpha}
            return factors(table, **options), factors_glm(table, **options)
    return ()


def _unpaired(data: StudyData, key: str) -> Predictions:
    """Return a variant's predictions; members without a dense parent get names that no dense member has."""
    population = data.populations[key]
    if data.is_paired(key):
        return population
    return Predictions(
        population.labels,
        population.ranked,
        members=[f"{key}/{member}" for member in population.members],
        class_names=population.class_names,
        example_ids=population.example_ids,
        clusters=population.clusters,
    )


def study_factors(study_audit: StudyAudit) -> tuple[Factors, ...]:
    """Return the regressions of class accuracy, [P]; () with fewer than three sparsities or too few classes."""
    data = study_audit.data
    keys = pruned_keys(data)
    if not keys:
        return ()
    return study_audit.cached(  # type: ignore[no-any-return]
        "factors",
        tuple[Factors, ...],
        lambda: factors_of(factor_table(data, keys), data.alpha),
        (BASELINE, *keys),
        lambda: [data.fingerprints.classes, data.alpha],
    )


def joint_factors(studies: AcrossStudies) -> tuple[Factors, ...]:
    """Return the regressions of class accuracy over all studies, [P] 3.1; () if none is pruned to three sparsities."""
    tables = joint_table(studies)
    return factors_of(tables, studies.alpha) if len(tables) else ()


def joint_table(studies: AcrossStudies) -> pd.DataFrame:
    """Return one row per class, member and pruned variant of all studies; see `class_table`."""
    data = [study_audit.data for study_audit in studies.study_audits]
    tables = [factor_table(each, keys) for each in data if (keys := pruned_keys(each))]
    return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame()
