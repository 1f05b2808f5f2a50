"""Operating points of a study: which variant to ship."""

from tfaudit.analysis.joint_audits import JointAudit
from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.audits.gate.limits import Limits
from tfaudit.audits.operating_points.declaration import OPERATING_POINTS
from tfaudit.audits.operating_points.operating_points import OperatingPoints, operating_points

AXES = {"gzipped kB": "min", "sparsity": "max"}
"""Measures of a smaller model; the first that at least three variants have is used."""


def study_operating_points(study_audit: StudyAudit, limits: Limits) -> OperatingPoints | None:
    """Return the Pareto set of size (or sparsity), unfairness and accuracy of the variants that pass the gate."""
    table = study_audit.trade_offs()
    for axis, goal in AXES.items():
        if table.loc[table[axis].notna(), "variant"].nunique() > 2:
            objectives = {axis: goal, "unfairness": "min", "accuracy": "max"}
            outcomes = study_audit.verdict(limits).outcomes
            return operating_points(table, objectives=objectives, outcomes=outcomes)
    return None


TRADE_OFFS = JointAudit(compute=study_operating_points, shown=OPERATING_POINTS)
