"""Operating points of a study: which variant to ship."""

import pandas as pd

from tfaudit.analysis.audits import ONE_POPULATION, Audit
from tfaudit.analysis.joint_audits import JointAudit
from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.analysis.study_data import BASELINE
from tfaudit.audits.gate.limits import Limits
from tfaudit.audits.verdict.study_verdict import SIZES, known_sizes
from tfaudit.extensions.operating_points.declaration import OPERATING_POINTS
from tfaudit.extensions.operating_points.operating_points import (
    OperatingPoints,
    operating_points,
    trade_offs,
)

AXES = {"gzipped kB": "min", "sparsity": "max"}
"""Measures of a smaller model; the first that at least three variants have is used."""


def costs_and_accuracy(study_audit: StudyAudit) -> pd.DataFrame:
    """Return the costs and the accuracy of every model, for `tfaudit.operating_points`.

    One row per variant and member. Columns: `variant`, `member`, `title`, `technique`, `sparsity` (a share),
    `bytes`, `gzipped kB`, `size` (gzipped, or on disk if only those are known) and `time` (latency of one image,
    where `tfaudit cost` measured it) as shares of the baseline's, `accuracy`, `unfairness`. NaN where a value is
    unknown.
    """
    facts = study_audit.summary.table.rename(columns={"family": "technique"})
    facts = facts.astype({"sparsity": float, "bytes": float, "gzipped_bytes": float})
    sizes = facts.set_index("variant")[SIZES[known_sizes(facts)]]
    facts["gzipped kB"] = facts["gzipped_bytes"] / 1000
    facts["size"] = facts["variant"].map(sizes / sizes[BASELINE])
    facts["time"] = facts["variant"].map(study_audit.latency("ratio"))
    costs = ["title", "technique", "sparsity", "bytes", "gzipped kB", "size", "time"]
    measured = pd.concat([study_audit.result("unfairness", key) for key in study_audit.data.titles])
    table = measured[["variant", "member", "accuracy", "unfairness"]].merge(facts, on="variant")
    return table[["variant", "member", *costs, "accuracy", "unfairness"]]


def study_operating_points(study_audit: StudyAudit, limits: Limits) -> OperatingPoints | None:
    """Return the Pareto set of size (or sparsity), unfairness and accuracy of the variants that pass the gate."""
    table = costs_and_accuracy(study_audit)
    for axis, goal in AXES.items():
        if table.loc[table[axis].notna(), "variant"].nunique() > 2:
            objectives = {axis: goal, "unfairness": "min", "accuracy": "max"}
            outcomes = study_audit.verdict(limits).outcomes
            return operating_points(table, objectives=objectives, outcomes=outcomes)
    return None


UNFAIRNESS = Audit(
    name="unfairness",
    result=pd.DataFrame,
    compute=lambda data, key: trade_offs({key: data.populations[key]}, pd.DataFrame(index=[key])),
    **ONE_POPULATION,
)
TRADE_OFFS = JointAudit(compute=study_operating_points, shown=OPERATING_POINTS)
