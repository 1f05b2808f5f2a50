"""Remedies against controls, by loops over members, classes and images, and SciPy's paired t-test."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from tests.builders.refusals import assert_refused
from tests.builders.studies import make_study
from tfaudit import Predictions, Pruned, Quantized
from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.extensions.remedies.remedies import BETTER, CANNOT_TELL, MEASURES, remedies
from tfaudit.extensions.remedies.study_remedies import study_remedies
from tfaudit.stats.changes import mean_change

K, N, C = 5, 120, 4
LABELS = np.arange(N) % C


def population(wrong, seed, members=range(K)):
    rng = np.random.default_rng(seed)
    top1 = np.where(rng.random((K, N)) < wrong, (LABELS + 1) % C, LABELS)
    return Predictions.from_top1(LABELS, top1, members=list(members))


DENSE, CONTROL, REMEDIED = population(0.1, 1), population(0.3, 2), population(0.12, 3)


def by_loops(right, dense):
    worst, gaps = [], []
    for k in range(K):
        recalls = [right[k][c == LABELS].mean() for c in range(C)]
        worst.append(min(recalls))
        overall = dense[k].mean() - right[k].mean()
        gaps.append(max(dense[k][c == LABELS].mean() - recalls[c] - overall for c in range(C)))
    return np.array(worst), np.array(gaps)


def test_by_loops():
    frame = remedies({"r": (DENSE, CONTROL, REMEDIED)}).frame().set_index("measure")
    dense, *sides = (each.top1 == LABELS for each in (DENSE, CONTROL, REMEDIED))
    assert tuple(frame.index) == MEASURES
    worst, gaps = zip(*(by_loops(side, dense) for side in sides), strict=True)
    flips = [(dense & ~side) for side in sides]
    pies = [np.mean(each.modal() != DENSE.modal()) for each in (CONTROL, REMEDIED)]
    means = [[float(np.mean(values)) for values in pair] for pair in (sides, worst, gaps, flips)]
    for measure, pair in zip(MEASURES, [*means, pies], strict=True):
        assert_allclose(frame.loc[measure, ["control", "remedy"]].astype(float), pair)
        assert_allclose(frame.loc[measure, "difference_pp"], 100 * (pair[1] - pair[0]))
    for measure, (first, second) in (("worst-class recall", worst), ("largest excess gap", gaps)):
        wanted = stats.ttest_rel(second, first)
        assert_allclose(frame.loc[measure, "p"], wanted.pvalue)
        ends = frame.loc[measure, ["low_pp", "high_pp"]].astype(float)
        assert_allclose(ends, 100 * np.array(wanted.confidence_interval(0.95)))
    for measure, pair in (("accuracy", sides), ("negative flips", flips)):
        change = mean_change(*(side.astype(float) for side in pair), paired=True)
        assert_allclose(frame.loc[measure, "p"], change.p()[0])
        assert_allclose(frame.loc[measure, "low_pp"], 100 * change.interval()[0][0])
    assert frame.loc["accuracy", "verdict"] == frame.loc["negative flips", "verdict"] == BETTER


def test_members_are_paired_by_name():
    order = [3, 0, 4]

    def some(numbers):
        sides = [
            Predictions.from_top1(LABELS, each.top1[numbers], members=numbers)
            for each in (CONTROL, REMEDIED)
        ]
        return remedies({"r": (DENSE, *sides)}).frame()

    got = some(order)
    assert_allclose(got["difference_pp"], some(sorted(order))["difference_pp"])
    assert set(got["members"]) == {3}


def test_the_control_against_itself_is_no_difference():
    frame = remedies({"r": (DENSE, CONTROL, CONTROL)}).frame()
    assert (frame["difference_pp"] == 0).all()
    assert set(frame["verdict"]) == {CANNOT_TELL}


def test_a_single_pair_has_no_test_of_the_worst_class():
    single = [Predictions.from_top1(LABELS, each.top1[:1]) for each in (DENSE, CONTROL, REMEDIED)]
    result = remedies({"r": tuple(single)})
    frame = result.frame().set_index("measure")
    assert np.isnan(frame.loc["worst-class recall", "p"])
    assert np.isfinite(frame.loc["accuracy", "p"])
    assert len(result.notes) == 2


def test_what_is_refused():
    assert_refused(
        r"members: got .*, expected members of the same dense models",
        remedies,
        {"r": (DENSE, CONTROL, population(0.1, 3, members="abcde"))},
    )
    assert_refused(
        "alpha: got 2, expected a level", remedies, {"r": (DENSE, CONTROL, REMEDIED)}, alpha=2
    )


@pytest.mark.slow
def test_a_study_compares_remedies_of_pruning_and_training_for_int8(tmp_path):
    pruned = [Pruned(0.9, treatment="finetune", remedy=remedy) for remedy in ((), "distillation")]
    aware = [Quantized("int8"), Quantized("int8", remedy="quantization_aware")]
    store = make_study(tmp_path, variants=(*pruned, *aware))
    result = study_remedies(StudyAudit.read(store).data)
    frame, titles = result.frame(), store.study.titles
    assert set(frame["title"]) == {titles[variant.key] for variant in (pruned[1], aware[1])}
    assert (
        f"{titles[aware[1].key]}: the control is quantized without further training."
        in result.notes
    )
    assert result.chart().to_dict()
