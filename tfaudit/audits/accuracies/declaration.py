"""How the audit presents itself to readers: question, source, charts, tables and findings."""

from tfaudit.audits.declaration import Declaration

ACCURACIES = Declaration(
    name="accuracies",
    title="Accuracies of the members",
    question="How do the top-1 and top-5 accuracies of the members of every population spread?",
    source="[F] table 1",
)
