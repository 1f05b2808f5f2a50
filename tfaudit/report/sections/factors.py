"""What explains the accuracy of a class after pruning."""

from __future__ import annotations

from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.audit.factors.regression import Factors
from tfaudit.report.sections.section import Figure, Section, Table, column

__all__ = ["factors_section"]


def factors_section(study_audit: StudyAudit) -> Section | None:
    """The regression of [P], where a study prunes to three sparsities or more."""
    fits = study_audit.factors()
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
