"""The page of remedies."""

import dataclasses

import pytest

from tests.builders.studies import make_study
from tfaudit import Pruned
from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.app.menu import PAGES


@pytest.mark.slow
def test_remedies_have_a_page_where_a_study_has_one(open_page, tmp_path):
    controls = (Pruned(0.5, treatment="finetune"),)
    distilled = (*controls, dataclasses.replace(controls[0], remedy="distillation"))
    for variants in (controls, distilled):
        store = make_study(tmp_path / str(len(variants)), variants=variants)
        known = variants is distilled
        assert PAGES["remedies"].applies(StudyAudit.read(store).data) is known
        app = open_page(store.directory, "remedies")
        assert not app.exception
        assert not app.error
        assert bool(app.get("vega_lite_chart")) is known is not bool(app.info)
