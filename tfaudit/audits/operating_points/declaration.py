"""What the audit is to a reader."""

from tfaudit.audits.declaration import Declaration

OPERATING_POINTS = Declaration(
    name="operating_points",
    title="Operating points",
    question=(
        "Beside the baseline, which variants that pass the gate are worth a choice between size, accuracy and "
        "unfairness, the gap between the best and the worst recall of a class: for which is no other variant "
        "better in one of the three and no worse in the others?"
    ),
    source="[P] 4.2",
)
