"""How the audit presents itself to readers: question, source, charts, tables and findings."""

from tfaudit.audits.declaration import Declaration, Table

REMEDIES = Declaration(
    name="remedies",
    title="Remedies",
    question="Does a remedy lose less than plain fine-tuning?",
    method=(
        "Training with it against its control, plain fine-tuning of the same length: in "
        "accuracy, the worst class, the largest excess gap of a class, negative flips and "
        "PIEs, examples whose prediction changes."
    ),
    part="In use",
    source="[Y] [HB], intervals [C]",
    tables={
        "measures": Table(
            columns=(
                "title",
                "measure",
                "control",
                "remedy",
                "difference_pp",
                "low_pp",
                "high_pp",
                "verdict",
                "members",
                "p",
                "p_holm",
            ),
            catalogue="remedies",
        ),
    },
)
