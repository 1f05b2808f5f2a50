"""How the audit presents itself to readers: question, source, charts, tables and findings."""

from tfaudit.audits.declaration import Chart, Declaration, Table
from tfaudit.audits.groups.order import largest_losses_first

GROUPS = Declaration(
    name="groups",
    title="Groups",
    question="Which groups lose more accuracy than the rest?",
    method=("Groups and individuals of the data, each against the examples overall."),
    source="[P] 4.1",
    charts=(
        Chart(
            name="groups",
            description=(
                "A line per group: its accuracy before and after compression, with intervals over examples and members."
            ),
            draw=lambda result: result.groups_chart(),
        ),
        Chart(
            name="individuals",
            description=(
                "A point per individual: accuracy after against before; below the dashed line it lost; a line per "
                "group."
            ),
            draw=lambda result: result.individuals_chart(),
            title="individuals",
            shown=lambda result: len(result.individuals) > 0,
        ),
    ),
    tables={
        "groups": Table(
            columns=(
                "group",
                "examples",
                "accuracy_before",
                "accuracy_after",
                "change_pp",
                "change_low_pp",
                "change_high_pp",
                "change_p_holm",
                "verdict",
                "relative_pp",
                "relative_verdict",
                "relative_low_pp",
                "relative_high_pp",
                "relative_p_holm",
                "change_p",
                "change_p_bh",
                "relative_p",
                "relative_p_bh",
                "published_pp",
                "published_p",
                "published_direction",
            ),
            report=11,
            rows=lambda result: largest_losses_first(result.frame()),
            headings=lambda result: {"group": result.name},
        ),
        "individuals": Table(
            columns=(
                "individual",
                "group",
                "examples",
                "accuracy_before",
                "accuracy_after",
                "change_pp",
            ),
            catalogue="individuals",
            rows=lambda result: result.individuals_frame().sort_values(
                ["change_pp", "examples"], kind="stable"
            ),
            title="individuals, the largest loss first",
            headings=lambda result: {"group": result.name},
            report_rows=lambda rows: rows.head(10),
            folded=True,
        ),
        "fits": Table(
            columns=(
                "group",
                "individuals",
                "slope",
                "slope_low",
                "slope_high",
                "intercept",
                "r",
            ),
            catalogue="fits",
            rows=lambda result: result.fits,
            title="fitted lines of accuracy after on accuracy before, one per group",
            headings=lambda result: {"group": result.name},
            folded=True,
        ),
    },
)
