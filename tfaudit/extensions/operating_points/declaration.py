"""How the audit presents itself to readers: question, source, charts, tables and findings."""

from tfaudit.audits.declaration import Chart, Declaration, Table

OPERATING_POINTS = Declaration(
    name="operating_points",
    title="Operating points",
    question="Which variants are the best compromises?",
    method=(
        "Of the variants that pass the gate, those that no other beats in size, accuracy or "
        "unfairness, the gap between the best and the worst recall of a class, without losing "
        "in another of the three."
    ),
    part="In use",
    source="[P] 4.2",
    charts=(
        Chart(
            description="Unfairness and accuracy against the cost, a point per variant; the Pareto set stands out."
        ),
    ),
    tables={
        "points": Table(
            columns=("title", "gzipped kB", "sparsity", "accuracy", "unfairness", "gate", "pareto"),
            catalogue="points",
            title="Trade-offs",
        ),
    },
)
