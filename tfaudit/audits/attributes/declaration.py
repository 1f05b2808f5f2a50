"""What the audit is to a reader."""

from tfaudit.audits.declaration import Declaration, Table

ATTRIBUTES = Declaration(
    name="attributes",
    title="Attributes of the exemplars",
    question="Which attributes do PIEs have more often (ratio above 1) or less often than the other images?",
    source="[F] 3.2",
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
        ),
    },
)
