"""Groups against fairlearn, pandas, SciPy and class impact; individuals and their lines; degenerate columns."""

import numpy as np
import pandas as pd
import pytest
from fairlearn.metrics import MetricFrame
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import accuracy_score
from statsmodels.stats.contingency_tables import mcnemar

from tests.builders.populations import population
from tfaudit.audit.classes import class_impact
from tfaudit.audit.groups import groups
from tfaudit.errors import InputError
from tfaudit.predictions import Predictions

BEFORE, AFTER = population(1), population(2, hurt=[3])
WRITERS = np.random.default_rng(5).integers(0, 20, 200)
SERIES = np.where(WRITERS < 6, "employee", "student")


def one(predictions, member=0):
    return Predictions(predictions.labels, predictions.ranked[[member]])


def test_accuracy_equals_that_of_fairlearn():
    frame = groups(BEFORE, AFTER, SERIES).frame().set_index("group")
    for population_, column in ((BEFORE, "accuracy_before"), (AFTER, "accuracy_after")):
        members = [
            MetricFrame(metrics=accuracy_score, y_true=BEFORE.labels, y_pred=top1, sensitive_features=SERIES).by_group
            for top1 in population_.top1
        ]
        expected = pd.concat(members, axis=1)
        pd.testing.assert_series_equal(frame[column], expected.mean(axis=1), check_names=False)
        half = stats.sem(expected, axis=1) * stats.t.ppf(0.975, 5)
        when = column.removeprefix("accuracy_")
        np.testing.assert_allclose(frame[f"{when}_high"] - frame[column], half)
        np.testing.assert_allclose(frame[column] - frame[f"{when}_low"], half)


def test_classes_are_groups():
    """Where the column is the label, accuracy is recall and the test is that of [F] 2.2."""
    frame, impact = groups(BEFORE, AFTER, BEFORE.labels).frame(), class_impact(BEFORE, AFTER).frame()
    same = {
        "group": "class",
        "accuracy_before": "recall_before",
        "normalised_pp": "normalised_pp",
        "low_pp": "normalised_low_pp",
        "high_pp": "normalised_high_pp",
    }
    same |= {name: name for name in ("examples", "difference_pp", "p", "p_holm", "p_bh", "direction")}
    pd.testing.assert_frame_equal(frame[list(same)].rename(columns=same), impact[list(same.values())])


def test_individuals_equal_a_groupby():
    people = groups(BEFORE, AFTER, SERIES, individuals=WRITERS).individuals_frame()
    right = pd.DataFrame({"w": WRITERS, "b": BEFORE.correct().mean(0), "a": AFTER.correct().mean(0)}).groupby("w")
    people = people.astype({"individual": int}).sort_values("individual").reset_index(drop=True)
    np.testing.assert_array_equal(people["individual"], np.arange(20))
    np.testing.assert_allclose(people["accuracy_before"], right["b"].mean())
    np.testing.assert_allclose(people["accuracy_after"], right["a"].mean())
    np.testing.assert_array_equal(people["examples"], right.size())
    assert list(people["group"]) == ["employee"] * 6 + ["student"] * 14


def test_lines_equal_polyfit():
    found = groups(BEFORE, AFTER, SERIES, individuals=WRITERS)
    people = found.individuals_frame()
    assert list(found.fits["individuals"]) == [6, 14]
    for fit in found.fits.to_dict("records"):
        inside = people[people["group"] == fit["group"]]
        slope, intercept = np.polyfit(inside["accuracy_before"], inside["accuracy_after"], 1)
        assert (fit["slope"], fit["intercept"]) == pytest.approx((slope, intercept))
        assert fit["r"] == pytest.approx(inside["accuracy_before"].corr(inside["accuracy_after"]))


def test_lines_that_do_not_exist():
    sure = Predictions.from_top1([0, 0, 1, 1], [[0, 0, 1, 1]] * 2)
    hurt = Predictions.from_top1([0, 0, 1, 1], [[1, 0, 1, 1], [0, 0, 1, 0]])
    fits = groups(sure, hurt, ["a", "a", "a", "b"], individuals=["p", "p", "q", "r"]).fits
    assert list(fits["individuals"]) == [2, 1]
    assert fits[["slope", "intercept", "r"]].isna().all(axis=None)


def test_one_against_one_is_mcnemar():
    before, after = one(BEFORE), one(AFTER)
    found = groups(before, after, SERIES)
    frame = found.frame()
    for row in frame.to_dict("records"):
        inside = row["group"] == SERIES
        b, a = before.correct()[0, inside], after.correct()[0, inside]
        cells = [[(b & a).sum(), (b & ~a).sum()], [(~b & a).sum(), (~b & ~a).sum()]]
        assert row["p"] == pytest.approx(mcnemar(cells, exact=True).pvalue)
        assert row["low_pp"] < row["difference_pp"] < row["high_pp"]
    assert frame[["before_low", "after_high"]].isna().all(axis=None)
    assert set(frame["test"]) == {"McNemar, difference"}
    assert "One model against one" in found.notes[0]


def test_one_against_many_is_not_tested():
    found = groups(one(BEFORE), AFTER, SERIES)
    assert found.frame()[["p", "low_pp", "p_bh"]].isna().all(axis=None)
    assert set(found.frame()["direction"]) == {"no evidence"}
    assert found.notes == ("No test: 1 against 6 members; Welch's test needs two or more on both sides.",)
    assert found.summary()["tested"] == 0


def test_finds_the_harmed_group():
    found = groups(BEFORE, AFTER, pd.Series(np.where(BEFORE.labels == 3, "far", "near"), name="distance"))
    counts = found.summary()
    assert counts["column"] == "distance"
    assert counts["worst_group"] == "far"
    assert counts["harmed"] == counts["favoured"] == 1
    assert counts["worst_difference_pp"] < 0
    assert counts["gap_after_pp"] > counts["gap_before_pp"]
    assert counts["worst_individual"] is None


def test_missing_values_are_a_group():
    column = np.where(WRITERS < 3, np.nan, WRITERS % 2)
    found = groups(BEFORE, AFTER, column, individuals=np.where(WRITERS == 7, None, WRITERS))
    assert list(found.frame()["group"]) == ["0", "1", "(missing)"]
    assert found.frame()["examples"].sum() == 200
    assert "7" not in set(found.individuals_frame()["individual"])
    assert found.individuals_frame()["examples"].sum() == (WRITERS != 7).sum()
    assert found.notes == (
        f"{(WRITERS == 7).sum()} examples of unknown individuals count for the groups, but for no individual.",
    )


@pytest.mark.parametrize(
    ("column", "names"),
    [
        (np.arange(200) % 11, [str(i) for i in range(11)]),
        (np.arange(200) % 2 == 0, ["False", "True"]),
        (pd.Categorical(["low", "high"] * 100, ["low", "middle", "high"]), ["low", "high"]),
        (pd.Series(["b", "a"] * 100, index=np.arange(200)[::-1]), ["a", "b"]),
        ([1, "a", None, "(missing)"] * 50, ["(missing)", "1", "a"]),
        ([None] * 200, ["(missing)"]),
    ],
)
def test_columns_of_any_kind(column, names):
    frame = groups(BEFORE, AFTER, column).frame()
    assert list(frame["group"]) == names
    assert frame["examples"].sum() == 200


def test_one_group_is_the_whole():
    frame = groups(BEFORE, AFTER, np.zeros(200)).frame()
    assert frame["normalised_pp"].abs().max() < 1e-9
    assert frame["p"].item() == 1
    assert frame["accuracy_after"].item() == pytest.approx(AFTER.accuracy().mean())


@settings(max_examples=4, deadline=None)
@given(st.permutations(range(200)))
def test_order_of_examples_plays_no_part(order):
    permuted = [Predictions(p.labels[order], p.ranked[:, order]) for p in (BEFORE, AFTER)]
    found = groups(*permuted, SERIES[order], individuals=WRITERS[order])
    plain = groups(BEFORE, AFTER, SERIES, individuals=WRITERS)
    pd.testing.assert_frame_equal(found.frame(), plain.frame())
    pd.testing.assert_frame_equal(found.individuals_frame(), plain.individuals_frame())
    pd.testing.assert_frame_equal(found.fits, plain.fits)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"column": SERIES[:9]}, r"column: got shape \(9,\), expected one value for each of the 200 examples"),
        ({"column": SERIES, "individuals": [1]}, r"individuals: got shape \(1,\)"),
        ({"column": SERIES, "alpha": 1}, "alpha: got 1"),
        ({"column": SERIES, "compressed": population(2, examples=100)}, "compressed: got 100 examples, expected 200"),
    ],
)
def test_bad_input(arguments, message):
    with pytest.raises(InputError, match=message):
        groups(**{"baseline": BEFORE, "compressed": AFTER} | arguments)
