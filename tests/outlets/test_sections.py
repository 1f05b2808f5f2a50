"""A report holds the sections that its study's data allow, and no others."""

import json
import re

import pytest

from tests.builders.sections import cells, sections_of
from tests.builders.studies import WRITERS, make_study
from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.audits.chance.chance import chance
from tfaudit.charts.rendering import widened
from tfaudit.outlets.chart_files import study_charts
from tfaudit.outlets.html import write_report
from tfaudit.outlets.references import SOURCES
from tfaudit.outlets.sections.order import study_sections
from tfaudit.study.variants import Pruned


@pytest.mark.slow
def test_a_population_without_more(store):
    found = sections_of(store)
    assert {"chance", "operating-points", "negative-flips"} <= set(found)
    groups_needed = {"groups", "attributes", "trends"}
    more_needed = {"model-pair", "robustness", "factors", "costs", "survey"}
    assert not (groups_needed | more_needed) & set(found)
    by_chance = chance(
        store.predictions("dense"), store.predictions("magnitude-0.9"), permutations=50
    ).frame()
    assert cells(found["chance"].tables[0])["by chance"] == tuple(
        f"{x:,.1f}" for x in by_chance["expected"]
    )
    points = cells(found["operating-points"].tables[0])
    assert points["variant"] == ("dense", "magnitude 90 %", "fixed-point int8")


@pytest.fixture(scope="module")
def everything(tmp_path_factory):
    """One report with every section but the survey and the pairs."""
    variants = tuple(Pruned(s) for s in (0.5, 0.7, 0.9))
    store = make_study(tmp_path_factory.mktemp("all"), variants=variants, groups=WRITERS)
    study_audit = StudyAudit.read(store, permutations=50)
    return study_audit, study_sections(study_audit)


@pytest.mark.slow
def test_every_section_says_what_it_shows_and_cites_its_source(everything):
    study_audit, sections = everything
    keys = [section.key for section in sections]
    assert len(set(keys)) == len(keys) >= 10
    for section in sections:
        assert section.question.endswith("?")
        assert section.question.count(". ") == 0
        assert set(re.findall(r"\[([A-Z]+)\]", section.source)) & SOURCES.keys()
    text = write_report(study_audit).read_text()
    assert all(f'id="{section.key}"' in text for section in sections)
    assert text.count("<svg") >= sum(len(section.figures) for section in sections)


@pytest.mark.slow
def test_charts_follow_altairs_schema(everything):
    """A report does not have them checked."""
    study_audit, sections = everything
    figures = [figure for section in sections for figure in section.figures]
    assert len({figure.name for figure in figures}) == len(figures)
    charts = [figure.chart for figure in figures]
    specifications = [
        widened(chart, 860).to_dict()
        for chart in (*charts, *study_charts(study_audit.summary).values())
    ]
    drawn = [
        re.sub(r"\b(view|param)_\d+\b", "", json.dumps(chart, sort_keys=True))
        for chart in specifications
    ]
    assert len(set(drawn)) == len(drawn), "a picture is drawn twice"
