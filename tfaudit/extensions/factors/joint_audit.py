"""Factors that explain the accuracy of a class after pruning: the two regressions of one study, or of several."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import pandas as pd

from tfaudit.analysis.across_studies import AcrossStudies
from tfaudit.analysis.audits import pruned_variants
from tfaudit.analysis.joint_audits import JointAudit
from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.analysis.study_data import StudyData
from tfaudit.audits.gate.limits import Limits
from tfaudit.audits.result import Drawing, Result
from tfaudit.errors import listed
from tfaudit.extensions.factors.declaration import FACTORS
from tfaudit.extensions.factors.design import term_title
from tfaudit.outlets.columns import column, p_text
from tfaudit.outlets.sections.audit import TitledResult, section_of
from tfaudit.outlets.sections.section import Section

if TYPE_CHECKING:
    from tfaudit.extensions.factors.regression import Factors

SPARSITIES = 3
"""Sparsities that the regressions need: their model has a linear and an exponential term."""


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


def pruned_keys(data: StudyData) -> tuple[str, ...]:
    """Return the keys of the pruned variants if they have three sparsities or more; otherwise none."""
    variants = pruned_variants(data)
    sparsities = {variant.level for variant in variants.values()}
    return tuple(variants) if len(sparsities) >= SPARSITIES else ()


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


def factors_of_study(study_audit: StudyAudit, limits: Limits) -> StudyFactors | None:
    """Return the regressions of a study; None if too few sparsities or classes allow neither."""
    # Half a second: it loads statsmodels.
    from tfaudit.extensions.factors.study_factors import study_factors

    fits = study_factors(study_audit)
    return StudyFactors(*fits) if fits else None


def factors_of_studies(studies: AcrossStudies) -> Section | None:
    """Return the section of the regressions over all studies; None if none is pruned to three sparsities."""
    from tfaudit.extensions.factors.study_factors import joint_factors

    fits = joint_factors(studies)
    return section_of(FACTORS, [TitledResult(StudyFactors(*fits))]) if fits else None


STUDY_FACTORS = JointAudit(compute=factors_of_study, shown=FACTORS, applies=pruned_keys)
