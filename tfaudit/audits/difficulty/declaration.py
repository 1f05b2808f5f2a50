"""How the audit presents itself to readers: question, source, charts, tables and findings."""

from tfaudit.audits.declaration import Declaration

EXEMPLAR_LEVELS = Declaration(
    name="exemplar_levels",
    title="Exemplars over levels",
    question="How hard are the changed images for uncompressed models?",
    method=(
        "Accuracy on PIEs, images whose prediction changes, and on the other images, "
        "at every level of compression."
    ),
    source="[F] figure 3 and table 6",
)
