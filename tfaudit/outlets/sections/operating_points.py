"""Operating points: which variant to ship."""

from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.audits.gate.limits import DEFAULT_LIMITS, Limits
from tfaudit.audits.operating_points.declaration import OPERATING_POINTS
from tfaudit.audits.operating_points.operating_points import operating_points
from tfaudit.outlets.sections.audit import Shown, section_of
from tfaudit.outlets.sections.section import Section

AXES = {"gzipped kB": "min", "sparsity": "max"}
"""Measures of a smaller model; the first that at least three variants have is used."""


def operating_points_section(
    study_audit: StudyAudit, limits: Limits = DEFAULT_LIMITS
) -> Section | None:
    """Return the Pareto set of size (or sparsity), unfairness and accuracy of the variants that pass the gate."""
    table = study_audit.trade_offs()
    for axis, goal in AXES.items():
        if table.loc[table[axis].notna(), "variant"].nunique() > 2:
            points = operating_points(
                table,
                objectives={axis: goal, "unfairness": "min", "accuracy": "max"},
                outcomes=study_audit.verdict(limits).outcomes,
            )
            return section_of(OPERATING_POINTS, [Shown(points)])
    return None
