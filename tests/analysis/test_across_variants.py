"""Audits of all variants side by side: their sections, their tabs, and what a study does not allow."""

import pytest

from tests.builders.sections import cells, sections_of
from tests.builders.studies import make_study
from tfaudit.analysis.across_variants import ACROSS
from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.study.variants import Pruned, Quantized

LEVELS = (Pruned(0.5), Pruned(0.9), Quantized("int8"))


@pytest.mark.slow
def test_every_row_has_a_section(tmp_path):
    store = make_study(tmp_path, variants=LEVELS)
    sections = sections_of(store)
    for name, audit in ACROSS.items():
        if name == "remedies":  # no variant is trained with one
            continue
        section = sections[name.replace("_", "-")]
        shown = audit.shown
        assert (section.title, section.question, section.source) == (
            shown.title,
            shown.question,
            shown.source,
        )
    levels = cells(sections["class-recalls"].tables[0])["sparsity, %"]
    assert set(levels) == {"0", "50", "90"}
    titles = cells(sections["claims"].tables[0])["variant"]
    assert titles == ("magnitude 50 %", "magnitude 90 %", "fixed-point int8")
    assert set(cells(sections["accuracies"].tables[0])["accuracy"]) == {"top-1"}  # of five classes


def test_what_a_study_does_not_allow(tmp_path):
    single = StudyAudit.read(make_study(tmp_path / "single", members=1))
    results = {name: audit.compute(single) for name, audit in ACROSS.items()}
    assert results["class_recalls"] is None  # a single level of sparsity
    assert results["accuracies"] is None  # one dot a row
    assert results["claims"].frame()["tested"].tolist() == [
        5,
        5,
    ]  # of single models, McNemar's tests
    missing = {("magnitude-0.9", 0), ("int8", 0)}
    alone = StudyAudit.read(make_study(tmp_path / "alone", members=1, missing=missing))
    assert not any(audit.compute(alone) for audit in ACROSS.values())
