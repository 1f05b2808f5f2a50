"""The images to look at first in a report: their order, and how many variants change them."""

import numpy as np

from tests.builders.studies import before_and_after, make_study
from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.audits.flips.image_changes import UNCHANGED, image_changes
from tfaudit.audits.prediction_counts.prediction_counts import count_predictions
from tfaudit.extensions.forecast.first_examples import SHOWN
from tfaudit.extensions.forecast.forecast import forecast
from tfaudit.outlets.sections.audit import audit_section


def test_the_smallest_margins_and_how_many_variants_change_them(tmp_path):
    store = make_study(tmp_path)
    heading, cards = audit_section(StudyAudit.read(store), "forecast").gallery
    assert heading.startswith("Examples to look at first")
    rows = forecast(store.predictions("dense")).frame().head(SHOWN)
    assert [card.example for card in cards] == rows["example"].tolist()
    assert [card.second for card in cards] == rows["second"].tolist()
    assert [card.margin for card in cards] == [f"{margin:.3f}" for margin in rows["margin"]]
    assert all(card.preview.source and not card.after for card in cards)
    kinds = [
        image_changes(*before_and_after(store, key, count_predictions))["kind"]
        for key in ("magnitude-0.9", "int8")
    ]
    changed = np.sum([kind != UNCHANGED for kind in kinds], axis=0)[rows["index"]]
    assert changed.any()
    words = {0: "no", 1: "by 1 of 2 variants", 2: "by 2 of 2 variants"}
    assert [card.changed_by for card in cards] == [words[count] for count in changed]
