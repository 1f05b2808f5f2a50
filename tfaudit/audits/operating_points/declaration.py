"""How the audit presents itself to readers: question, source, charts, tables and findings."""

from tfaudit.audits.declaration import Chart, Declaration, Table

OPERATING_POINTS = Declaration(
    name="operating_points",
    title="Operating points",
    question=(
        "Beside the baseline, which variants that pass the gate are worth a choice between size, accuracy and "
        "unfairness, the gap between the best and the worst recall of a class: for which is no other variant "
        "better in one of the three and no worse in the others?"
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
