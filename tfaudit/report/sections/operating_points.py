"""Which variant to ship."""

from __future__ import annotations

from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.audit.operating_points import OperatingPoints, operating_points
from tfaudit.report.sections.section import Figure, Section, Table, column

__all__ = ["operating_points_section"]

SIZE = "gzipped kB"
AXES = {SIZE: ("size", "min"), "sparsity": ("sparsity", "max")}
"""What a smaller model is measured by: the first of these that at least three variants know."""


def operating_points_section(study_audit: StudyAudit) -> Section | None:
    """The Pareto set of size (or sparsity), unfairness and accuracy."""
    table = study_audit.trade_offs()
    known = [name for name in AXES if table.loc[table[name].notna(), "variant"].nunique() > 2]
    if not known:
        return None
    axis, (word, goal) = known[0], AXES[known[0]]
    objectives = {axis: goal, "unfairness": "min", "accuracy": "max"}
    found = operating_points(table, objectives=objectives)
    return Section(
        "operating-points",
        "Operating points",
        f"Which variants are worth a choice between {word}, accuracy and unfairness, the gap between the best and the "
        "worst recall of a class: those that no other beats in one of the three without losing in another.",
        "[P] 4.2",
        (
            Figure(
                "operating-points",
                found.chart(),
                f"Unfairness and accuracy against {word}, a point per variant; the Pareto set stands out.",
            ),
        ),
        (_table(found, axis),),
        found.notes,
    )


def _table(found: OperatingPoints, axis: str) -> Table:
    frame = found.frame().assign(pareto=lambda rows: rows["pareto"].map({True: "yes", False: "no"}))
    form, scale = (",.3g", 1) if axis == SIZE else (".1f", 100)
    return Table(
        "Trade-offs",
        (
            column(frame, "title", "variant"),
            column(frame, axis, axis if axis == SIZE else "sparsity, %", form, scale=scale),
            column(frame, "accuracy", "accuracy, %", ".2f", scale=100),
            column(frame, "unfairness", "unfairness, points", ".1f", scale=100, meaning="largest minus least recall"),
            column(frame, "pareto", "Pareto set"),
        ),
    )
