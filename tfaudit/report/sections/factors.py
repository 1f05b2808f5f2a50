"""What explains the accuracy of a class after pruning."""

from __future__ import annotations

import contextlib

import pandas as pd

from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.analysis.study_data import BASELINE
from tfaudit.audit.factors.class_table import class_table
from tfaudit.audit.factors.regression import Factors, factors, factors_glm
from tfaudit.errors import InputError
from tfaudit.predictions import Predictions
from tfaudit.report.sections.section import Figure, Section, Table, column
from tfaudit.study.variants import Pruned

__all__ = ["factors_section"]

LEVELS = 3
"""Sparsities that a curve needs: the model has a linear and an exponential term."""


def factors_section(study_audit: StudyAudit) -> Section | None:
    """The regression of [P], where a study prunes to three sparsities or more."""
    variants = {key: study_audit.study.variant(key) for key in study_audit.compressed_keys}
    pruned = {key: variant for key, variant in variants.items() if isinstance(variant, Pruned)}
    if len({variant.level for variant in pruned.values()}) < LEVELS:
        return None
    reached = study_audit.audit.table.set_index("variant")["sparsity"]
    described = pd.DataFrame.from_dict(
        {
            key: {
                "technique": variant.technique(*(name for name in study_audit.study.telling if name != "treatment")),
                "weight_treatment": variant.treatment,
                "sparsity": variant.sparsity if variant.ratio is None else reached[key],
            }
            for key, variant in pruned.items()
        },
        orient="index",
    )

    def compute() -> tuple[Factors, ...]:
        chosen = {BASELINE: study_audit.baseline} | {key: _unpaired(study_audit, key) for key in pruned}
        table = class_table(chosen, described, study_audit.store.table("classes"), baseline=BASELINE)
        return _fits(table, 1 - study_audit.alpha)

    by = [study_audit.inputs.classes, study_audit.alpha]
    fits = study_audit.keep("factors", tuple[Factors, ...], compute, of=(BASELINE, *pruned), by=by)
    if not fits:
        return None
    least_squares, counts = fits
    return Section(
        "factors",
        "Factors",
        "What explains the accuracy of a class after pruning: sparsity, the accuracy it had before, its share of the "
        "training set, the entropy of its images; by least squares with robust (HAC) errors and by a binomial model.",
        "[P] 3.1 and D",
        (
            Figure("factors", least_squares.chart(), "Coefficients with intervals.", "Least squares"),
            Figure(
                "factors-residuals", least_squares.diagnostics_chart(), "Fitted against observed, residuals.", "Fit"
            ),
        ),
        (_table(least_squares, "Least squares, changes of accuracy"), _table(counts, "Binomial model, log-odds")),
        (*least_squares.notes, *_quality(least_squares)),
    )


def _unpaired(study_audit: StudyAudit, key: str) -> Predictions:
    """A variant's predictions; where it has no dense parents, its members do not bear the names of dense ones."""
    population = study_audit.populations[key]
    if study_audit.study.variant(key).parent is not None:
        return population
    return Predictions(
        population.labels,
        population.ranked,
        class_names=population.class_names,
        example_ids=population.example_ids,
        members=[f"{key}/{member}" for member in population.members],
    )


def _fits(table: pd.DataFrame, confidence: float) -> tuple[Factors, ...]:
    """Both models; of few classes without the quartiles, of too few not at all."""
    for without in ((), ("accuracy0_quartile", "accuracy0:accuracy0_quartile")):
        with contextlib.suppress(InputError):  # covariates that cannot be told apart, too few rows, separation
            return (
                factors(table, without=without, confidence=confidence),
                factors_glm(table, without=without, confidence=confidence),
            )
    return ()


def _table(found: Factors, title: str) -> Table:
    frame = found.frame()
    return Table(
        title,
        (
            column(frame, "term", "term"),
            column(frame, "estimate", "estimate", "+.4f"),
            column(frame, "se", "HAC error", ".4f"),
            column(frame, "t", "t", "+.2f"),
            column(frame, "p", "p", ".2g", meaning="two-sided"),
            column(frame, "low", "from", "+.4f", meaning="lower end of its interval"),
            column(frame, "high", "to", "+.4f", meaning="upper end"),
            column(frame, "p_one_tailed", "p, one-tailed", ".2g", meaning="imbalance > 0, class entropy < 0"),
        ),
        folded=True,
    )


def _quality(found: Factors) -> list[str]:
    facts = found.summary()
    fit = f"R² {facts['r_squared']:.3f}, adjusted {facts['r_squared_adjusted']:.3f}, of {facts['rows']:,} rows"
    return [
        f"{fit}; condition number {facts['condition_number']:.3g}, Durbin-Watson {facts['durbin_watson']:.2f}, "
        f"Breusch-Pagan p {facts['breusch_pagan_p']:.2g}. The members answer the same images: rows are not independent."
    ]
