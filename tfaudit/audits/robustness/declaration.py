"""What the audit is to a reader."""

from tfaudit.audits.declaration import Declaration

ROBUSTNESS = Declaration(
    name="robustness",
    title="Robustness",
    question=(
        "What does compression cost on corrupted images or images from elsewhere, which corruptions and "
        "classes pay, and is it more than compression costs on clean images?"
    ),
    source="[F] 4 and D, [HD]",
)
