"""The regressions of a study, or of several together."""

import contextlib
import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from tfaudit.analysis.audits import pruned_variants
from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.analysis.study_data import BASELINE, StudyData
from tfaudit.audits.result import Drawing, Result
from tfaudit.errors import InputError, listed
from tfaudit.extensions.factors.class_table import class_table
from tfaudit.extensions.factors.design import term_title
from tfaudit.extensions.factors.regression import Factors, factors, factors_glm
from tfaudit.extensions.factors.sparsities import pruned_keys
from tfaudit.outlets.columns import column, p_text
from tfaudit.predictions import Predictions
from tfaudit.study.variants import Pruned


@dataclasses.dataclass(frozen=True)
class StudyFactors(Result):
    """The regressions of [P] on the pruned variants of one study, or of several.

    Attributes:
        least_squares, binomial: the two fits.
    """

    least_squares: Factors
    binomial: Factors

    def frame(self) -> pd.DataFrame:
        """Return the coefficients of the least-squares fit, with their terms in words."""
        return _in_words(self.least_squares)

    def binomial_frame(self) -> pd.DataFrame:
        """Return the coefficients of the binomial fit, with their terms in words."""
        return _in_words(self.binomial)

    def summary(self) -> dict[str, Any]:
        """Return the diagnostics of the least-squares fit."""
        return self.least_squares.summary()

    def chart(self) -> Drawing:
        """Draw the coefficients of the least-squares fit."""
        return self.least_squares.chart()

    def diagnostics(self) -> pd.DataFrame:
        """Return the diagnostics of both fits, a row each ([P] D)."""
        fits = (self.least_squares, self.binomial)
        return pd.DataFrame([fit.summary() for fit in fits])

    @property
    def notes(self) -> tuple[str, ...]:  # type: ignore[override]
        """What the fit leaves out, how good it is, and its formula."""
        fit = self.least_squares
        formula = f"Formula ([P] eq. 2): {fit.formula}."
        return (*fit.notes, *withdrawn(fit), _goodness_of_fit(fit), formula)


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


def factors_of(table: pd.DataFrame, alpha: float) -> StudyFactors | None:
    """Return the least-squares and the binomial model of class accuracy of a `factor_table`; None if neither fits.

    With few classes the quartiles are left out.
    """
    for without in ((), ("accuracy0_quartile", "accuracy0:accuracy0_quartile")):
        with contextlib.suppress(InputError):  # collinear covariates, too few rows, separation
            options: dict[str, Any] = {"without": without, "confidence": 1 - alpha}
            return StudyFactors(factors(table, **options), factors_glm(table, **options))
    return None


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


def study_factors(study_audit: StudyAudit) -> StudyFactors | None:
    """Return the regressions of class accuracy, [P]; None with fewer than three sparsities or too few classes."""
    data = study_audit.data
    keys = pruned_keys(data)
    if not keys:
        return None
    return study_audit.cached(  # type: ignore[no-any-return]
        "factors",
        StudyFactors | None,
        lambda: factors_of(factor_table(data, keys), data.alpha),
        (BASELINE, *keys),
        lambda: [data.fingerprints.classes, data.alpha],
    )


def joint_factors(studies: Mapping[str, StudyAudit]) -> StudyFactors | None:
    """Return the regressions over all studies, [P] 3.1; None if none is pruned to three sparsities."""
    tables = joint_table(studies)
    if tables.empty:
        return None
    first, *_ = studies.values()
    return factors_of(tables, first.data.alpha)


def joint_table(studies: Mapping[str, StudyAudit]) -> pd.DataFrame:
    """Return one row per class, member and pruned variant of all studies; see `class_table`."""
    data = [study_audit.data for study_audit in studies.values()]
    tables = [factor_table(each, keys) for each in data if (keys := pruned_keys(each))]
    return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame()


def _in_words(fit: Factors) -> pd.DataFrame:
    frame = fit.frame()
    return frame.assign(term=frame["term"].map(term_title))


def withdrawn(fit: Factors) -> tuple[str, ...]:
    """Return a note on terms whose HAC interval excludes 0 but whose interval by class does not; () without any."""
    rows = fit.frame().query(
        "low * high > 0 and cluster_se >= 0 and not cluster_low * cluster_high > 0"
    )
    terms = list(map(term_title, rows["term"]))
    if not terms:
        return ()
    return (
        f"Errors that allow for correlation within a class leave no evidence for: {listed(terms)}.",
    )


def _goodness_of_fit(fit: Factors) -> str:
    facts = fit.summary()
    condition = column("condition_number").text(facts["condition_number"])
    return (
        f"R² {facts['r_squared']:.3f}, adjusted {facts['r_squared_adjusted']:.3f}, of {facts['rows']:,} rows; "
        f"condition number {condition}, Durbin-Watson {facts['durbin_watson']:.2f}, Breusch-Pagan p "
        f"{p_text(facts['breusch_pagan_p'])}. All members see the same examples, so rows are not independent."
    )
