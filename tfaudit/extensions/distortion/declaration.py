"""How the audit presents itself to readers: question, source, charts, tables and findings."""

from typing import Any

from tfaudit.audits.declaration import Chart, Declaration, Table
from tfaudit.extensions.distortion.slopes import balance_frame, pooled_frame


def _slopes(result: Any) -> Any:
    from tfaudit.extensions.distortion.slope_chart import slope_chart

    return slope_chart(result.named(result.slopes), result.named(result.intervals))


def _intervals(result: Any) -> Any:
    from tfaudit.extensions.distortion.slope_chart import interval_chart

    return interval_chart(result.named(result.intervals))


def _balances(result: Any) -> Any:
    from tfaudit.extensions.distortion.chart import balance_chart

    return balance_chart(balance_frame(result.titled), pooled_frame(result.titled))


BALANCES = Declaration(
    name="distortion",
    title="Balances of the classes",
    question="How far from the average is each class?",
    charts=(
        Chart(
            description=(
                "A point per class and member: its recall balance after against before, as a share of the accuracy; "
                "amber, the published slope; dashed, no change."
            ),
        ),
    ),
    tables={
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
"""How the balances of one variant are shown."""

DISTORTION = Declaration(
    name="distortion",
    title="Recall distortion",
    question="Do weak classes get weaker?",
    method=(
        "The balance of a class is its recall minus the accuracy, and the slope is that of "
        "the balances after compression on those before. Slope 2: classes lie twice as far "
        "from the average as before; below 1 they lie closer to it."
    ),
    part="Who pays",
    source="[R] 5 and 6",
    charts=(
        Chart(
            name="slopes",
            title="Slopes, as published: not corrected",
            description="A box per variant and a dot per model. Right of 1 the recalls of the classes drift apart.",
            draw=_slopes,
            shown=lambda result: result.several,
        ),
        Chart(
            name="slope-intervals",
            title="Corrected slopes",
            description="Corrected slope with its interval over examples and members.",
            draw=_intervals,
            shown=lambda result: result.several and result.intervals["alpha"].notna().any(),
        ),
        Chart(
            name="accuracy-slope",
            title="Accuracy and slope",
            description="Mean accuracy and mean slope of every variant with standard errors.",
        ),
        Chart(
            name="balances",
            title="Balances after and before",
            description="A point per class and member: normalised recall balance after against before.",
            draw=_balances,
        ),
    ),
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
        ),
        "levels": Table(
            title=(
                "Does the slope grow from one level to the next? p, {result.kind}, one-sided, Bonferroni by column "
                "([R] 1-4)"
            ),
            rows=lambda result: result.question("level", "method", alternative="less"),
            numbers="p",
        ),
        "methods": Table(
            title=(
                "Do methods differ at a level? p, {result.kind}, two-sided, Bonferroni by column ([R] table 8)"
            ),
            rows=lambda result: result.question("method", "level", pairs="all"),
            numbers="p",
        ),
        "variance": Table(
            title="Variance of recall over the classes ([R] table 11)",
            rows=lambda result: result.variances(),
            numbers=".4f",
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
            rows=lambda result: result.spread(),
            folded=True,
        ),
    },
    findings=lambda title, result: result.findings,
)
