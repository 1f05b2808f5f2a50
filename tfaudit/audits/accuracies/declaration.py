"""How the audit presents itself to readers: question, source, charts, tables and findings."""

from tfaudit.audits.declaration import Declaration

ACCURACIES = Declaration(
    name="accuracies",
    title="Accuracies of the members",
    question="How far apart are the models of one variant?",
    method=("Top-1 and top-5 accuracy of every member of every population."),
    source="[F] table 1",
)
