"""What the audit is to a reader."""

from tfaudit.audits.declaration import Declaration

DISTORTION = Declaration(
    name="distortion",
    title="Recall distortion",
    question=(
        "Does compression drive the recalls of the classes apart (slope above 1) or together (slope below 1), "
        "where the slope is that of the recall balances after compression on those before?"
    ),
    source="[R] 5 and 6",
)
