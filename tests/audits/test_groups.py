"""Groups against fairlearn, pandas, SciPy and class impact; individuals and their lines; degenerate columns."""

import numpy as np
import pandas as pd
import pytest
from fairlearn.metrics import MetricFrame
from scipy import stats
from sklearn.metrics import accuracy_score
from statsmodels.stats.contingency_tables import mcnemar

from tests.builders.populations import population
from tfaudit.audits.classes.classes import class_impact
from tfaudit.audits.groups.groups import groups
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
            MetricFrame(
                metrics=accuracy_score, y_true=BEFORE.labels, y_pred=top1, sensitive_features=SERIES
            ).by_group
            for top1 in population_.top1
        ]
        expected = pd.concat(members, axis=1)
        pd.testing.assert_series_equal(frame[column], expected.mean(axis=1), check_names=False)
        half = stats.sem(expected, axis=1) * stats.t.ppf(0.975, 5)
        when = column.removeprefix("accuracy_")
        assert (frame[f"{when}_high"] - frame[column] > half).all()  # the images count, too
        np.testing.assert_allclose(
            frame[column] - frame[f"{when}_low"], frame[f"{when}_high"] - frame[column]
        )


@pytest.mark.parametrize("paired", [False, True])
def test_classes_are_groups(paired):
    """Where the column is the label, accuracy is recall, and all figures are those of `class_impact`."""
    frame = groups(BEFORE, AFTER, BEFORE.labels, paired=paired).frame()
    impact = class_impact(BEFORE, AFTER, paired).frame()
    frame = frame.rename(columns={"group": "class", "accuracy_before": "recall_before"})
    verdicts = {"verdict", "published_direction"}
    same = [name for name in impact if name in frame and name not in verdicts]
    assert len(same) == 3 + 6 + 7 + 6
    pd.testing.assert_frame_equal(frame[same], impact[same])
    assert list(frame["verdict"].str.replace("accuracy", "recall")) == list(impact["verdict"])


def test_individuals_equal_a_groupby():
    people = groups(BEFORE, AFTER, SERIES, individuals=WRITERS).individuals_frame()
    right = pd.DataFrame(
        {"w": WRITERS, "b": BEFORE.correct().mean(0), "a": AFTER.correct().mean(0)}
    ).groupby("w")
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


def test_one_against_one_is_mcnemar():
    before, after = one(BEFORE), one(AFTER)
    found = groups(before, after, SERIES)
    frame = found.frame()
    for row in frame.to_dict("records"):
        inside = row["group"] == SERIES
        b, a = before.correct()[0, inside] == 1, after.correct()[0, inside] == 1
        cells = [[(b & a).sum(), (b & ~a).sum()], [(~b & a).sum(), (~b & ~a).sum()]]
        assert row["change_p"] == pytest.approx(mcnemar(cells, exact=True).pvalue)
        # Tango's interval holds the differences that his score test does not reject: statsmodels has Newcombe's only.
        difference = a.astype(float) - b
        span = stats.t.interval(0.95, len(difference) - 1, difference.mean(), stats.sem(difference))
        np.testing.assert_allclose(
            [row["change_low_pp"], row["change_high_pp"]], 100 * np.array(span), atol=1.5
        )
        whole = (after.correct()[0].astype(float) - before.correct()[0]).mean()
        assert row["relative_pp"] == pytest.approx(100 * (difference.mean() - whole))
    assert frame.filter(like="published").drop(columns="published_direction").isna().all(axis=None)
    assert "One model against one" in found.notes[0]


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


def test_the_worst_group_is_none_of_a_few_images():
    most = (AFTER.correct().mean(0) - BEFORE.correct().mean(0)).argmin()
    column = np.where(BEFORE.labels == 3, "far", "near").astype(object)
    column[most] = "one image"
    found = groups(BEFORE, AFTER, pd.Series(column, name="distance"))
    assert found.frame().sort_values("change_pp")["group"].iloc[0] == "one image"
    assert found.summary()["worst_group"] == "far"
