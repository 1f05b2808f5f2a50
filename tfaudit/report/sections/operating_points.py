"""Which variant to ship."""

from __future__ import annotations

import pandas as pd

from tfaudit.audit.operating_points import OperatingPoints, operating_points
from tfaudit.audit.trade_offs import trade_offs
from tfaudit.report.sections.material import Material
from tfaudit.report.sections.section import Figure, Section, Table, column

__all__ = ["operating_points_section"]

AXES = {
    "gzipped_bytes": ("size", {"gzipped_bytes": "min", "unfairness": "min", "accuracy": "max"}),
    "sparsity": ("sparsity", {"sparsity": "max", "unfairness": "min", "accuracy": "max"}),
}
"""What a smaller model is measured by: the first of these that every variant knows."""


def operating_points_section(material: Material) -> Section | None:
    """The Pareto set of size (or sparsity), unfairness and accuracy."""
    facts = material.audit.table.set_index("variant")[["title", "family", "sparsity", "gzipped_bytes"]]
    facts = facts.rename(columns={"family": "technique"})
    known = [name for name in AXES if pd.to_numeric(facts[name]).notna().sum() > 2]
    if not known:
        return None
    table = trade_offs(material.populations, facts)
    word, objectives = AXES[known[0]]
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
        (_table(found, known[0]),),
        found.notes,
    )


def _table(found: OperatingPoints, axis: str) -> Table:
    frame = found.frame().assign(pareto=lambda rows: rows["pareto"].map({True: "yes", False: "no"}))
    size = (
        column(frame, axis, "gzipped, kB", ",.3g", scale=1e-3)
        if axis == "gzipped_bytes"
        else column(frame, axis, "sparsity, %", ".1f", scale=100)
    )
    return Table(
        "Trade-offs",
        (
            column(frame, "title", "variant"),
            size,
            column(frame, "accuracy", "accuracy, %", ".2f", scale=100),
            column(frame, "unfairness", "unfairness, points", ".1f", scale=100, meaning="largest minus least recall"),
            column(frame, "pareto", "Pareto set"),
        ),
    )
