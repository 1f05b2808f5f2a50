"""How the audit presents itself to readers: question, source, charts, tables and findings."""

from tfaudit.audits.declaration import Declaration, Table

FACTORS = Declaration(
    name="factors",
    title="Factors",
    question="What explains the accuracy of a class after pruning?",
    method=(
        "Sparsity, its accuracy before, its share of the training set or the entropy of its "
        "images, by least squares with robust (HAC) errors and by a binomial model."
    ),
    source="[P] 3.1 and D",
    tables={
        "terms": Table(
            columns=(
                "term",
                "estimate",
                "se",
                "t",
                "p",
                "low",
                "high",
                "p_one_tailed",
                "cluster_se",
                "cluster_df",
                "cluster_p",
                "cluster_p_one_tailed",
            ),
            catalogue="factors",
        ),
    },
)
