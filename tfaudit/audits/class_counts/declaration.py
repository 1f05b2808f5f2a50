"""How the audit presents itself to readers: question, source, charts, tables and findings."""

from tfaudit.audits.declaration import Declaration

CLASS_COUNTS = Declaration(
    name="class_counts",
    title="Training images",
    question="Are the classes that models know badly before compression those of the fewest training images?",
    source="[P] figure 6",
)
