"""Counts expected by chance."""

import pandas as pd

from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.audits.chance.declaration import CHANCE
from tfaudit.outlets.sections.section import ReportTable, Section, chart_per_variant, notes_of


def chance_section(study_audit: StudyAudit) -> Section | None:
    """Return the permutation tests of the numbers of PIEs and of significant classes."""
    chances, titles = study_audit.summary.chances, study_audit.data.titles
    if not chances:
        return None
    rows = pd.concat([chance.frame().assign(title=titles[key]) for key, chance in chances.items()])
    rows["kind"] = rows["exact"].map({True: "all", False: "random"})
    # Where each count has a single value, a histogram shows nothing.
    varied = {
        key: chance
        for key, chance in chances.items()
        if len(chance.distribution()) > len(chance.frame())
    }
    findings = [
        f"{titles[key]}: every reassignment gives {values.iloc[0]:,} {count}, and {row['observed']:,} are observed."
        for key, chance in chances.items()
        for count, row in chance.frame().set_index("count").iterrows()
        if (values := chance.distribution().set_index("count").loc[[count], "value"]).nunique() == 1
    ]
    return Section.of(
        CHANCE,
        chart_per_variant(
            "chance", varied, titles, "Histogram of the counts by chance, with the observed count."
        ),
        (ReportTable.declared("Counts by chance", CHANCE.table, rows, folded=True),),
        notes_of(chances.values()),
        findings=findings,
    )
