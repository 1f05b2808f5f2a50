"""How the audit presents itself to readers: question, source, charts, tables and findings."""

from tfaudit.audits.declaration import Chart, Declaration, Table

ATTRIBUTES = Declaration(
    name="attributes",
    title="Attributes of the exemplars",
    question="Which attributes do the changed examples have more often than the others?",
    method=(
        "Share of each attribute among the PIEs, examples whose prediction changes, "
        "and among the other examples: at a ratio above 1, PIEs have it more often."
    ),
    source="[F] 3.2",
    charts=(
        Chart(description="Share of each attribute among the PIEs and among the other examples."),
    ),
    tables={
        "attributes": Table(
            columns=(
                "attribute",
                "value",
                "share_pie",
                "share_non_pie",
                "ratio",
                "p",
                "p_holm",
                "test",
                "examples",
                "difference_pp",
                "low_pp",
                "high_pp",
            ),
            report=8,
            catalogue="attributes",
            rows=lambda result: result.frame().sort_values("p", kind="stable"),
            title="{result.pies:,} PIEs and {result.others:,} other examples",
            report_rows=lambda rows: rows.head(50),
        ),
    },
    images="changed",
    says_something=lambda result: bool(result.pies and result.others),
)
