"""A report holds the sections that its study's data allow, and no others."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from tests.builders.sections import cells, sections_of
from tests.builders.studies import WRITERS, make_study
from tfaudit.analysis.audits import AUDITS, Audit
from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.analysis.study_distortion import drift_sentence
from tfaudit.audits.chance.chance import chance
from tfaudit.audits.declaration import Declaration
from tfaudit.audits.distortion.recall_distortion import distortion
from tfaudit.audits.exemplars.exemplars import Exemplars, exemplars
from tfaudit.audits.groups.groups import groups
from tfaudit.audits.model_pair.model_pair import compare
from tfaudit.charts.rendering import widened
from tfaudit.outlets.chart_files import study_charts
from tfaudit.outlets.columns import text_columns
from tfaudit.outlets.html import write_report
from tfaudit.outlets.references import SOURCES
from tfaudit.outlets.sections.order import study_sections
from tfaudit.predictions import Predictions
from tfaudit.study.variants import Pruned


@pytest.mark.slow
def test_a_population_without_more(store):
    found = sections_of(store)
    assert {"chance", "distortion", "operating-points", "negative-flips"} <= set(found)
    groups_needed = {"groups", "attributes", "trends"}
    more_needed = {"model-pair", "robustness", "factors", "costs", "survey"}
    assert not (groups_needed | more_needed) & set(found)
    by_chance = chance(
        store.predictions("dense"), store.predictions("magnitude-0.9"), permutations=50
    ).frame()
    assert cells(found["chance"].tables[0])["by chance"] == tuple(
        f"{x:,.1f}" for x in by_chance["expected"]
    )
    rows = cells(found["distortion"].tables[0])
    expected = distortion(store.predictions("dense"), store.predictions("int8")).alpha.mean()
    assert rows["variant"] == ("magnitude 90 %", "fixed-point int8")
    assert rows["slope"][1] == f"{expected:.3f}"
    assert "Members of magnitude 90 % were trained independently" in found["distortion"].notes[0]
    # These members have no corrected slope, and without one nothing is claimed.
    assert found["distortion"].findings == (
        "For no variant do the data show that classes drift apart or move closer together.",
    )
    balances = found["distortion"].figures[-1].chart.to_json(validate=False)
    # As everywhere, not as "magnitude 0.9".
    assert all(f'"{title}"' in balances for title in rows["variant"])
    points = cells(found["operating-points"].tables[0])
    assert points["variant"] == ("dense", "magnitude 90 %", "fixed-point int8")


def test_what_training_apart_does_to_the_slope_is_no_drift_of_the_recalls():
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(20), 25)
    recalls = np.linspace(0.6, 0.95, 20)[labels]

    def members():
        right = rng.random((8, 500)) < recalls
        return Predictions.from_top1(
            labels, np.where(right, labels, (labels + 1) % 20), members=list("abcdefgh")
        )

    result = distortion(members(), members(), paired=False)
    assert result.published_mark().mark == "<"
    sentence = drift_sentence("magnitude 50 %", result.mark(levels=1, alpha=0.05))
    assert sentence.startswith("magnitude 50 %: the data cannot tell whether classes ")


@pytest.mark.slow
def test_single_models_are_compared_pair_by_pair(tmp_path):
    store = make_study(tmp_path, members=1)
    found = sections_of(store)
    rows = cells(found["model-pair"].tables[0])
    pair = compare(store.predictions("dense"), store.predictions("magnitude-0.9")).summary()
    assert rows["newly wrong"][0] == f"{pair['negative_flips']:g}"
    assert rows["p"][0] == f"{pair['change_p']:.2g}"
    names = [figure.name for figure in found["model-pair"].figures]
    assert names == ["model-pair-magnitude-0.9", "model-pair-int8"]
    assert [figure.name for figure in found["distortion"].figures] == ["accuracy-slope", "balances"]


@pytest.mark.slow
def test_groups_and_individuals(tmp_path):
    store = make_study(tmp_path, groups=WRITERS)
    found = sections_of(store)
    assert {"groups", "attributes", "trends"} <= set(found)
    table = cells(found["groups"].tables[0])
    expected = groups(
        store.predictions("dense"), store.predictions("magnitude-0.9"), WRITERS["series"]
    ).frame()
    assert table["series"] == ("employee", "student")
    assert table["images"] == ("100", "100")
    assert table["verdict"] == tuple(expected["verdict"])
    assert "individuals, the largest loss first, 10 of 100" in found["groups"].tables[1].title
    table = cells(found["attributes"].tables[0])
    assert (table["attribute"], table["value"]) == (("series", "series"), ("employee", "student"))


@pytest.mark.slow
def test_individuals_alone_are_one_group(store):
    found = sections_of(store, groups=WRITERS[["writer"]])  # brought along, not stored
    assert cells(found["groups"].tables[0])["group"] == ("all",)
    assert "attributes" not in found


@pytest.mark.slow
def test_ratios_from_shared_parents_make_the_tables_of_recall_distortion(tmp_path):
    variants = tuple(
        Pruned(ratio=ratio, method=method, treatment="finetune")
        for method in ("magnitude", "random")
        for ratio in (2, 10)
    )
    store = make_study(tmp_path, variants=variants)
    found = sections_of(store)["distortion"]
    slopes, rising, apart, variance, spread = found.tables
    titles = tuple(
        f"{method} ratio {ratio}" for method in ("magnitude", "random") for ratio in (2, 10)
    )
    assert cells(spread)["variant"][::2] == cells(slopes)["variant"] == titles
    dense = store.predictions("dense")
    alphas = {v.key: distortion(dense, store.predictions(v.key)).alpha for v in variants}
    keys = [variant.key for variant in variants]
    expected = stats.ttest_rel(alphas[keys[0]], alphas[keys[1]], alternative="less").pvalue
    assert cells(rising) == {
        "pair": ("2 vs 10",),
        "magnitude": (f"{expected:.2g}",),
        "random": cells(rising)["random"],
    }
    expected = stats.ttest_rel(alphas[keys[1]], alphas[keys[3]]).pvalue
    assert cells(apart)["10"] == (f"{expected:.2g}",)
    assert list(cells(variance)) == ["method", "before", "2", "10"]
    assert found.notes[0] == (
        f"Members of {', '.join(titles)} were trained after pruning, which alone pulls the published slope below 1. "
        "The corrected slope is free of this."
    )
    assert not any("trained independently" in note for note in found.notes)


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


def test_cells_show_minus_signs_and_dashes():
    frame = pd.DataFrame(
        {"class": ["a", None], "difference_pp": [-1.25, np.nan], "pareto": [True, False]}
    )
    shown = text_columns(frame)
    assert [column.cells for column in shown] == [("a", "–"), ("−1.25", "–"), ("yes", "no")]
    assert [column.heading for column in shown] == ["class", "change, pp", "Pareto set"]
    assert [column.numeric for column in shown] == [False, True, False]


@pytest.mark.slow
@pytest.mark.usefixtures("without_drawings")
def test_an_audit_with_a_question_alone_has_a_section(tmp_path, monkeypatch):
    store = make_study(tmp_path)
    shown = Declaration(
        name="difficulty",
        title="Difficulty",
        question="How hard are the exemplars?",
        source="[F] 3.1",
    )
    audit = Audit(
        name="difficulty",
        result=Exemplars,
        compute=lambda data, key, alpha: exemplars(data.baseline, data.populations[key]),
        shown=shown,
    )
    monkeypatch.setitem(AUDITS.core, "difficulty", audit)
    section = sections_of(store)["difficulty"]
    told = section.title, section.question, section.source
    assert told == (shown.title, shown.question, shown.source)
    names = [figure.name for figure in section.figures]
    assert names == ["difficulty-magnitude-0.9", "difficulty-int8"]
    assert [table.title for table in section.tables] == ["magnitude 90 %", "fixed-point int8"]
    expected = exemplars(store.predictions("dense"), store.predictions("int8")).frame()
    assert cells(section.tables[1])["true class"] == tuple(expected["label"])
    assert 'id="difficulty"' in write_report(StudyAudit.read(store, permutations=50)).read_text()
