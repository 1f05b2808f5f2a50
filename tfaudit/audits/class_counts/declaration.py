"""How the audit presents itself to readers: question, source, charts, tables and findings."""

from tfaudit.audits.declaration import Declaration

CLASS_COUNTS = Declaration(
    name="class_counts",
    title="Training images",
    question="Do the classes with the fewest training images have the lowest recall before compression?",
    source="[P] figure 6",
)
