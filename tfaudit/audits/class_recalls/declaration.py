"""How the audit presents itself to readers: question, source, charts, tables and findings."""

from tfaudit.audits.declaration import Declaration

CLASS_RECALLS = Declaration(
    name="class_recalls",
    title="Classes over sparsity",
    question="How does the recall of every class fall with sparsity?",
    method=(
        "A line per class shows whether those that are hard before compression stay the hardest."
    ),
    source="[P] figures 3, 5 and 7",
)
