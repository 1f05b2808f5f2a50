"""How the audit presents itself to readers: question, source, charts, tables and findings."""

from tfaudit.audits.declaration import Declaration, Table

INTERSECTIONS = Declaration(
    name="intersections",
    title="Gaps and intersections",
    question="Does compression widen the gap between the best and the worst group?",
    method=(
        "Over classes, groups and intersections of two, such as young women; and which "
        "intersections lose accuracy."
    ),
    part="Who pays",
    source="[B], intervals [C]",
    tables={
        "groupings": Table(
            columns=(
                "grouping",
                "worst_group",
                "worst_before",
                "worst_after",
                "gap_change_pp",
                "gap_change_low_pp",
                "gap_change_high_pp",
                "verdict",
                "gap_change_p_holm",
                "gap_before_pp",
                "gap_after_pp",
                "groups",
            ),
            catalogue="intersections",
        ),
    },
)
