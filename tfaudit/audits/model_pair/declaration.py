"""How the audit presents itself to readers: question, source, charts, tables and findings."""

import pandas as pd

from tfaudit.audits.declaration import Chart, Declaration, Table

MODEL_PAIR = Declaration(
    name="model_pair",
    title="One model against one",
    question="Which examples does compression get wrong now, and could that be luck?",
    method=(
        "Examples newly wrong and newly correct, by McNemar's exact test and Tango's interval."
    ),
    source="[M] [T]",
    charts=(
        Chart(
            description=(
                "Share of each class's examples newly wrong and newly correct, "
                "with the change of recall and its interval."
            ),
            shown=lambda result: bool(result.frame()[["lost", "won"]].to_numpy().any()),
        ),
    ),
    overview=Table(
        columns=(
            "title",
            "accuracy_before",
            "accuracy_after",
            "change_pp",
            "change_low_pp",
            "change_high_pp",
            "change_p",
            "p_mid",
            "negative_flips",
            "positive_flips",
            "wrong_to_other_wrong",
            "btc",
            "bec",
            "significant",
            "expected_by_chance",
            "significant_holm",
        ),
        catalogue="pairs",
        rows=lambda result: pd.DataFrame([result.summary()]),
        title="All examples, with {result.level} confidence intervals",
    ),
    tables={
        "classes": Table(
            columns=(
                "class",
                "examples",
                "recall_before",
                "recall_after",
                "verdict",
                "change_pp",
                "change_low_pp",
                "change_high_pp",
                "precision_before",
                "precision_after",
                "precision_pp",
                "precision_low_pp",
                "precision_high_pp",
                "lost",
                "won",
                "change_p",
                "p_mid",
                "change_p_holm",
                "relative_pp",
                "relative_low_pp",
                "relative_high_pp",
                "relative_verdict",
            ),
            report=18,
            catalogue="pairs",
            rows=lambda result: result.frame().sort_values(
                ["change_p", "change_pp"], kind="stable"
            ),
            title="classes that changed, the smallest p first",
            report_rows=lambda rows: rows.query("lost + won > 0").head(40),
            folded=True,
        ),
    },
)
