"""Recall distortion of several studies: the tables of [R] against SciPy, and which hypothesis is tested."""

import dataclasses

import numpy as np
import pytest
from scipy import stats

from tests.builders.studies import make_study
from tfaudit.analysis.across_studies import named_studies
from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.errors import InputError
from tfaudit.extensions.distortion.several_studies import slopes_of_studies
from tfaudit.study.variants import Pruned, Quantized

VARIANTS = tuple(
    Pruned(level, method=method) for method in ("magnitude", "random") for level in (0.5, 0.9)
)


@pytest.fixture(scope="module")
def audits(tmp_path_factory):
    names = ("first", "second")
    sizes = {"first": 4, "second": 5}
    folder = tmp_path_factory.mktemp("studies")
    return [
        StudyAudit.read(
            make_study(folder / name, name=name, variants=VARIANTS, members=sizes[name]),
            permutations=0,
        )
        for name in names
    ]


def slopes(audits):
    return slopes_of_studies(named_studies(audits))


def slopes_of(study_audit, key):
    return study_audit.distortion(key).alpha


def test_the_other_tables(audits):
    result = slopes(audits)
    assert result.accuracies()["accuracy"].tolist() == pytest.approx(
        [a.counts("dense").accuracy.mean() for a in audits]
    )
    assert len(result.means()) == 8
    levels = result.between_levels()
    one, other = (slopes_of(audits[0], f"random-{level}") for level in (0.5, 0.9))
    p = stats.ttest_ind(one, other, equal_var=False, alternative="less").pvalue
    assert levels.loc["random", "first"] == pytest.approx(p)
    methods = result.between_methods()
    one, other = (slopes_of(audits[1], f"{method}-0.9") for method in ("magnitude", "random"))
    p = stats.ttest_ind(one, other, equal_var=False).pvalue
    assert methods.loc["second", 0.9] == pytest.approx(min(1, 4 * p))  # corrected for all four
    expected = audits[1].distortion("random-0.9").rates_after.var(1).mean()
    np.testing.assert_allclose(result.variances().loc[("second", "random"), 0.9], expected)


def test_the_hypothesis_follows_what_differs(audits):
    def renamed(**settings):
        copy = StudyAudit(audits[1].data)
        study = dataclasses.replace(copy.data.study, **settings)
        copy.data.store.study = study
        return copy

    original = audits[1].data.study
    try:
        assert slopes([audits[0], renamed(model="lenet5")]).alternative == "greater"
        assert (
            slopes([audits[0], renamed(dataset="mnist", model=original.model)]).alternative
            == "less"
        )
    finally:
        audits[1].data.store.study = original


def test_a_study_without_pruned_variants_is_refused(audits, tmp_path):
    unpruned = StudyAudit.read(
        make_study(tmp_path, name="int8", variants=(Quantized("int8"),)), permutations=0
    )
    with pytest.raises(InputError, match="int8, without pruned variants to pair"):
        slopes([audits[0], unpruned])


@pytest.mark.slow
def test_tables_between_studies_are_independent_t_tests(audits):
    result = slopes(audits)
    table = result.between_studies()
    for method in ("magnitude", "random"):
        for level in (0.5, 0.9):
            one, other = (slopes_of(study_audit, f"{method}-{level}") for study_audit in audits)
            p = stats.ttest_ind(
                one, other, equal_var=False
            ).pvalue  # one test a column: nothing to correct
            assert table.loc[method, level] == pytest.approx(p)
    assert result.alternative == "two-sided"
