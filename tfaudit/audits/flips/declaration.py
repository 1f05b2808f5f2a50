"""How the audit presents itself to readers: question, source, charts, tables and findings."""

from tfaudit.audits.declaration import Declaration, Table
from tfaudit.audits.flips.image_changes import NEWLY_WRONG

NEGATIVE_FLIPS = Declaration(
    name="negative_flips",
    title="Negative flips",
    question="How often does compression turn a right prediction wrong?",
    method=("In every class, beside how often training the same model again would do so."),
    source="[Y], intervals [C]",
    tables={
        "classes": Table(
            columns=(
                "class",
                "negative_share",
                "negative_low",
                "negative_high",
                "retrained_share",
                "excess_pp",
                "excess_p_holm",
                "relative_pp",
                "relative_p_holm",
                "verdict",
                "positive_share",
                "examples",
            ),
            catalogue="negative_flips",
        ),
    },
    images=NEWLY_WRONG,
)
