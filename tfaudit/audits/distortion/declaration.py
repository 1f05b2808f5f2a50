"""How the audit presents itself to readers: question, source, charts, tables and findings."""

import pandas as pd

from tfaudit.audits.declaration import Declaration, Table

DISTORTION = Declaration(
    name="distortion",
    title="Recall distortion",
    question="Do weak classes get weaker?",
    method=(
        "The balance of a class is its recall minus the accuracy, and the slope is that of "
        "the balances after compression on those before. Slope 2: classes lie twice as far "
        "from the average as before; below 1 they lie closer to it."
    ),
    source="[R] 5 and 6",
    tables={
        "slopes": Table(
            columns=(
                "title",
                "alpha",
                "slope_between_dense",
                "corrected",
                "corrected_low",
                "corrected_high",
                "mark",
                "members",
                "accuracy_before",
                "accuracy_after",
                "variance_before",
                "variance_after",
            ),
            catalogue="slopes",
            title="Slopes and variance of recall",
            rows=lambda result: pd.DataFrame([result.summary()]),
        ),
        "spread": Table(
            columns=(
                "title",
                "measure",
                "members",
                "mean",
                "sd",
                "least",
                "most",
            ),
            catalogue="spread",
            title="Slopes and means of the intensification ratios over the models ([R] G)",
            rows=lambda result: result.spread_frame(),
            folded=True,
        ),
        "classes": Table(
            columns=(
                "class",
                "rate_before",
                "rate_after",
                "balance_before_pp",
                "balance_after_pp",
                "normalised_before",
                "normalised_after",
                "intensification",
                "examples",
            ),
            rows=lambda result: result.classes_frame().sort_values(
                "balance_after_pp", kind="stable"
            ),
        ),
    },
)
