"""Factors that explain the accuracy of a class after pruning; by hand: two fits share one table of diagnostics."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from tfaudit.analysis.across_studies import AcrossStudies
from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.charts.renderer import can_draw
from tfaudit.errors import listed, missing_extra
from tfaudit.extensions.factors.declaration import FACTORS
from tfaudit.extensions.factors.design import term_title
from tfaudit.outlets.columns import column, p_text
from tfaudit.outlets.grid import Grid
from tfaudit.outlets.sections.section import Figure, Section

if TYPE_CHECKING:
    from tfaudit.extensions.factors.regression import Factors

DIAGNOSTICS = (
    "rows",
    "r_squared",
    "r_squared_adjusted",
    "f",
    "f_p",
    "log_likelihood",
    "aic",
    "bic",
    "omnibus",
    "omnibus_p",
    "jarque_bera",
    "jarque_bera_p",
    "durbin_watson",
    "skew",
    "kurtosis",
    "condition_number",
)


def factors_section(audits: StudyAudit | AcrossStudies) -> Section | None:
    """Return the regressions of [P] if a study, or one of several, prunes to three sparsities or more; else None."""
    try:
        from tfaudit.extensions.factors import (
            study_factors,  # loads statsmodels, which takes half a second
        )

        if isinstance(audits, StudyAudit):
            fits = study_factors.study_factors(audits)
        else:
            fits = study_factors.joint_factors(audits)
    except ModuleNotFoundError as error:
        return Section.of(FACTORS, (), (), (f"{missing_extra(error, 'this section') or error}.",))
    if not fits:
        return None
    least_squares, binomial = fits
    tables = (
        ("Least squares, changes of accuracy", least_squares),
        ("Binomial model, log-odds", binomial),
    )
    diagnostics = pd.DataFrame([fit.summary() for fit in fits]).assign(
        fit=[fit.fit for fit in fits]
    )
    return Section.of(
        FACTORS,
        _figures(least_squares) if can_draw() else (),
        (
            *(
                Grid.declared(title, FACTORS.table, in_words(fit), folded=True)
                for title, fit in tables
            ),
            Grid.of("Diagnostics ([P] D)", diagnostics, ("fit", *DIAGNOSTICS), folded=True),
        ),
        (
            *least_squares.notes,
            *withdrawn(least_squares),
            _goodness_of_fit(least_squares),
            f"Formula ([P] eq. 2): {least_squares.formula}.",
        ),
    )


def _figures(fit: Factors) -> tuple[Figure, ...]:
    description = "Coefficients with confidence intervals."
    checks = "Fitted against observed, residuals."
    return (
        Figure("factors", fit.chart(), description, "Least squares"),
        Figure("factors-residuals", fit.diagnostics_chart(), checks, "Fit"),
    )


def in_words(fit: Factors) -> pd.DataFrame:
    """Return the coefficients with their terms in words."""
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
