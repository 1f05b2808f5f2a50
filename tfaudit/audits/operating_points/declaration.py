"""How the audit presents itself to readers: question, source, charts, tables and findings."""

from tfaudit.audits.declaration import Chart, Declaration, Table

OPERATING_POINTS = Declaration(
    name="operating_points",
    title="Operating points",
    question=(
        "Which variants that pass the gate are the best compromises between size, accuracy and unfairness, the gap "
        "between the best and the worst recall of a class: which does no other variant beat in one of the three "
        "without losing in another?"
    ),
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
