"""How the audit presents itself to readers: question, source, charts, tables and findings."""

from tfaudit.audits.declaration import Declaration, Table

CLASSES = Declaration(
    name="classes",
    title="Classes",
    question="Which classes lose recall?",
    method=(
        "The change of a class's recall, and the same minus the change of accuracy: whether "
        "it loses more, or less, than the model as a whole."
    ),
    source="[F] 2.2, intervals [C]",
    tables={
        "classes": Table(
            columns=(
                "class",
                "examples",
                "recall_before",
                "recall_after",
                "change_pp",
                "change_low_pp",
                "change_high_pp",
                "verdict",
                "precision_before",
                "precision_after",
                "precision_pp",
                "precision_low_pp",
                "precision_high_pp",
                "lowest_recall",
                "relative_pp",
                "relative_low_pp",
                "relative_high_pp",
                "relative_verdict",
                "change_p_holm",
                "relative_p_holm",
                "change_p",
                "relative_p",
            ),
            report=18,
            catalogue="classes",
            rows=lambda result: result.frame().sort_values("change_pp", kind="stable"),
        ),
        "published": Table(
            columns=(
                "class",
                "published_pp",
                "published_t",
                "published_p",
                "published_p_holm",
                "published_direction",
                "published_low_pp",
                "published_high_pp",
                "published_df",
                "published_p_bh",
            ),
            report=6,
            catalogue="classes",
            rows=lambda result: (
                result.frame()
                .dropna(subset=["published_p"])
                .sort_values("published_pp", kind="stable")
            ),
        ),
    },
)
