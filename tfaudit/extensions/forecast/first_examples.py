"""The examples to look at first, in a report."""

import numpy as np

from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.analysis.study_data import BASELINE
from tfaudit.audits.flips.image_changes import UNCHANGED, image_changes
from tfaudit.outlets.exemplar_cards import Card, cards

SHOWN = 24
"""Number of examples in a report; the viewer shows more."""


def first_examples(study_audit: StudyAudit) -> tuple[str, list[Card]]:
    """Return a heading, and cards that say by how many variants each example changes."""
    data = study_audit.data
    rows = study_audit.result("smallest_margins", BASELINE).head(SHOWN)
    places = rows["index"].to_numpy()
    before = study_audit.counts(BASELINE)
    keys = data.compressed_keys
    changes = [image_changes(before, study_audit.counts(key)).iloc[places] for key in keys]
    changed = np.sum([frame["kind"] != UNCHANGED for frame in changes], axis=0)
    rows = rows.rename(columns={"class": "label", "prediction": "baseline_mode"}).assign(
        baseline_share=before.share()[places],
        changed_by=[_in_words(count, len(keys)) for count in changed],
    )
    heading = "Examples to look at first: the smallest margins before compression"
    return heading, cards(rows, data.store.images(data.split, places.tolist()))


def _in_words(count: int, variants: int) -> str:
    if not count:
        return "no"
    return "yes" if variants == 1 else f"by {count} of {variants} variants"
