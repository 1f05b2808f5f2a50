"""How the audit presents itself to readers: question, source, charts, tables and findings."""

from tfaudit.audits.declaration import Chart, Declaration, Table

SURVEY = Declaration(
    name="survey",
    title="Human rating",
    question="What do people see in the changed images?",
    method=(
        "Attributes that raters, who did not know which images are PIEs (their "
        "prediction changes), saw in PIEs and in the other images, and how far raters agree."
    ),
    source="[F] 3.2 and C [K]",
    charts=(
        Chart(description="Share of PIEs and of other images in which raters saw each attribute."),
    ),
    tables={
        "answers": Table(
            columns=(
                "attribute",
                "share_pie",
                "share_non_pie",
                "ratio",
                "p",
                "p_holm",
                "kappa",
                "pies",
                "pies_judged",
                "non_pies",
                "non_pies_judged",
                "undecided",
                "answers",
                "raters",
            ),
            report=7,
            catalogue="survey",
            title="Answers",
        ),
    },
)
