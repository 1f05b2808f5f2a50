"""How the audit presents itself to readers: question, source, charts, tables and findings."""

from tfaudit.audits.declaration import Declaration

CLAIMS = Declaration(
    name="claims",
    title="Classes over all variants",
    question="Which classes lose or gain recall in which variants?",
    method=("One correction covers all variants and classes that are shown together."),
    source="[H] [BH], intervals [C]",
)
