"""Operating points: which variant to ship."""

from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.audits.gate.limits import DEFAULT_LIMITS, Limits
from tfaudit.audits.operating_points.declaration import OPERATING_POINTS
from tfaudit.audits.operating_points.operating_points import operating_points
from tfaudit.outlets.sections.section import Figure, ReportTable, Section

AXES = {"gzipped kB": ("size", "min"), "sparsity": ("sparsity", "max")}
"""Measures of a smaller model; the first that at least three variants have is used."""


def operating_points_section(
    study_audit: StudyAudit, limits: Limits = DEFAULT_LIMITS
) -> Section | None:
    """Return the Pareto set of size (or sparsity), unfairness and accuracy, of what passes the gate."""
    table = study_audit.trade_offs()
    measured = [name for name in AXES if table.loc[table[name].notna(), "variant"].nunique() > 2]
    if not measured:
        return None
    axis, (word, goal) = measured[0], AXES[measured[0]]
    objectives = {axis: goal, "unfairness": "min", "accuracy": "max"}
    result = operating_points(
        table, objectives=objectives, outcomes=study_audit.verdict(limits).outcomes
    )
    columns = ("title", axis, "accuracy", "unfairness", "gate", "pareto")
    description = (
        f"Unfairness and accuracy against {word}, a point per variant; the Pareto set stands out."
    )
    return Section.of(
        OPERATING_POINTS,
        (Figure("operating-points", result.chart(), description),),
        (ReportTable.of("Trade-offs", result.frame(), columns, "points"),),
        result.notes,
    )
