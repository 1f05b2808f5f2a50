"""Single models against the baseline."""

import pandas as pd

from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.audits.model_pair.declaration import MODEL_PAIR
from tfaudit.audits.model_pair.model_pair import PairComparison
from tfaudit.outlets.sections.section import ReportTable, Section, chart_per_variant, notes_of

CLASS_LIMIT = 40  # rows of a variant's table: the changed classes of smallest p

CHANGE = ("change_pp", "change_low_pp", "change_high_pp")
OVERALL = ("title", "accuracy_before", "accuracy_after", *CHANGE, "change_p", "p_mid")
COUNTS = ("significant", "expected_by_chance", "significant_holm")
FLIPS = ("negative_flips", "positive_flips", "wrong_to_other_wrong", "btc", "bec", "kappa")


def model_pair_section(study_audit: StudyAudit) -> Section | None:
    """Return what was lost and won on the same images, where the baseline and variants are one model each."""
    data, pairs = study_audit.data, study_audit.model_pairs
    if not pairs:
        return None
    overall = pd.DataFrame(
        [{"title": data.titles[key], **pair.summary()} for key, pair in pairs.items()]
    )
    title = f"All images, with {data.level} confidence intervals"
    tables = [
        ReportTable.of(title, overall, OVERALL + FLIPS + COUNTS, "pairs"),
        *(_class_table(pair, data.titles[key]) for key, pair in pairs.items()),
    ]
    description = (
        "Share of each class's images newly wrong and newly correct, "
        "with the change of recall and its interval."
    )
    return Section.of(
        MODEL_PAIR,
        chart_per_variant("pair", pairs, data.titles, description),
        tuple(table for table in tables if table),
        notes_of(pairs.values()),
    )


def _class_table(pair: PairComparison, title: str) -> ReportTable | None:
    frame = MODEL_PAIR.table.rows(pair)
    changed = frame[frame["lost"] + frame["won"] > 0]
    if changed.empty:
        return None
    shown = changed.head(CLASS_LIMIT)
    some = f"the {len(shown)} of smallest p" if len(shown) < len(changed) else f"{len(changed)}"
    title = f"{title}: classes that changed, {some} of {len(pair.class_names)}"
    return ReportTable.declared(title, MODEL_PAIR.table, shown, folded=True)
