"""What the audit is to a reader."""

from tfaudit.audits.declaration import Declaration, Table

MODEL_PAIR = Declaration(
    name="model_pair",
    title="One model against one",
    question=(
        "What does each compressed model newly get wrong and newly get right, is that more than chance "
        "(McNemar's exact test), and how large may the change be (Tango's interval)?"
    ),
    source="[M] [T]",
    tables={
        "classes": Table(
            columns=(
                "class",
                "examples",
                "recall_before",
                "recall_after",
                "verdict",
                "change_pp",
                "change_low_pp",
                "change_high_pp",
                "lost",
                "won",
                "change_p",
                "p_mid",
                "change_p_holm",
                "relative_pp",
                "relative_low_pp",
                "relative_high_pp",
                "relative_verdict",
            ),
            report=13,
            catalogue="pairs",
            rows=lambda result: result.frame().sort_values(
                ["change_p", "change_pp"], kind="stable"
            ),
        ),
    },
)
