"""Gaps between groups and intersections of groups: against pandas, written-out intervals and simulated studies."""

import itertools

import numpy as np
import pandas as pd
import pytest
from fairlearn.metrics import MetricFrame
from sklearn.metrics import accuracy_score

from tests.builders.populations import population
from tests.builders.simulated_studies import RECALLS, Truth, simulate
from tests.builders.two_way_reference import two_way
from tfaudit.errors import InputError
from tfaudit.extensions.intersections.intersections import intersections
from tfaudit.predictions import Predictions

BEFORE, AFTER = population(1, examples=400), population(2, examples=400, hurt=[3])
COLUMNS = pd.DataFrame(
    {
        "sex": np.where(np.arange(400) % 3 == 0, "f", "m"),
        "age": np.where(np.arange(400) < 100, "old", "young"),
    }
)


def accuracies(by):
    """Mean accuracy of each group, before and after, by pandas."""
    return [pd.Series(p.correct().mean(0)).groupby(by).mean() for p in (BEFORE, AFTER)]


def test_every_grouping_and_every_intersection_is_there():
    result = intersections(BEFORE, AFTER, COLUMNS)
    named = {"class": BEFORE.labels.astype(str)} | {
        name: COLUMNS[name].to_numpy() for name in COLUMNS
    }
    gaps, cells = result.frame().set_index("grouping"), result.cell_frame()
    expected = list(named) + [f"{a} and {b}" for a, b in itertools.combinations(named, 2)]
    assert list(gaps.index) == expected
    for grouping in expected:
        parts = grouping.split(" and ")
        before, after = accuracies([named[part] for part in parts])
        row = gaps.loc[grouping]
        assert row["groups"] == len(before)
        assert (row["worst_before"], row["worst_after"]) == pytest.approx(
            (before.min(), after.min())
        )
        assert row["gap_after_pp"] == pytest.approx(100 * (after.max() - after.min()))
        change = 100 * (np.ptp(after) - np.ptp(before))
        assert row["gap_change_pp"] == pytest.approx(change)
        worst = after.idxmin()
        assert row["worst_group"] == (", ".join(worst) if isinstance(worst, tuple) else worst)
        if len(parts) == 2:
            inside = cells[cells["grouping"] == grouping].set_index("group")
            change = 100 * (after - before)
            change.index = change.index.map(", ".join)
            np.testing.assert_allclose(
                inside["change_pp"].sort_index(), change.sort_index(), atol=1e-9
            )
    assert cells["change_pp"].is_monotonic_increasing


def test_kinds_within_the_classes_are_not_crossed_with_them():
    names = [f"{label} {i % 2}" for i, label in enumerate(BEFORE.labels)]
    kinds = pd.DataFrame({"kind": names, "sex": COLUMNS["sex"]})
    result = intersections(BEFORE, AFTER, kinds)
    expected = ["class", "kind", "sex", "class and sex", "kind and sex"]
    assert list(result.frame()["grouping"]) == expected


def test_gaps_of_one_model_are_fairlearns():
    one = [Predictions(p.labels, p.ranked[:1]) for p in (BEFORE, AFTER)]
    gaps = intersections(*one, COLUMNS).frame().set_index("grouping")
    for grouping, features in (("sex", ["sex"]), ("sex and age", ["sex", "age"])):
        for side, model in zip(("before", "after"), one, strict=True):
            by = MetricFrame(
                metrics=accuracy_score,
                y_true=model.labels,
                y_pred=model.top1[0],
                sensitive_features=COLUMNS[features],
            )
            assert gaps.loc[grouping, f"gap_{side}_pp"] == pytest.approx(100 * by.difference())
            assert gaps.loc[grouping, f"worst_{side}"] == pytest.approx(by.group_min())


@pytest.mark.parametrize("paired", [False, True])
def test_intervals_are_over_images_and_members(paired):
    row = intersections(BEFORE, AFTER, paired=paired).frame().loc[0]
    recalls = [p.recall().mean(0) for p in (BEFORE, AFTER)]
    contrasts = [
        p.correct() * 5.0 * ((p.labels == r.argmax()).astype(int) - (p.labels == r.argmin()))
        for p, r in zip((BEFORE, AFTER), recalls, strict=True)
    ]
    expected = np.multiply(two_way(*contrasts, paired=paired), [100, 100, 100, 1])
    names = ["gap_change_pp", "gap_change_low_pp", "gap_change_high_pp", "gap_change_p"]
    np.testing.assert_allclose(row[names].astype(float), expected, rtol=2e-3)


def test_small_groups_are_left_out_and_said():
    rare = pd.DataFrame({"rare": ["yes"] * 9 + ["no"] * 391})
    result = intersections(BEFORE, AFTER, rare)
    assert result.frame().set_index("grouping").loc["rare", "groups"] == 1
    assert result.notes == ("Left out: 6 groups of fewer than 10 examples.",)
    with pytest.raises(InputError, match="columns: got groups of fewer than 10 examples"):
        intersections(*[population(i, examples=20) for i in (1, 2)])


@pytest.mark.slow
@pytest.mark.parametrize("recalls", [{}, {"Coat": (0.35,)}])
def test_intervals_hold_the_change_of_the_gap(recalls):
    truth = Truth(paired=True, recalls=recalls)
    after = RECALLS.copy()
    if recalls:
        after[4] = 0.35
    change, held, claimed = 100 * (np.ptp(after) - np.ptp(RECALLS)), [], []
    for seed in range(80):
        row = intersections(*simulate(truth, seed, members=4, images=100)).frame().loc[0]
        held.append(row["gap_change_low_pp"] <= change <= row["gap_change_high_pp"])
        claimed.append(row["verdict"] == "wider")
        assert row["worst_after_low"] <= row["worst_after"] <= row["worst_after_high"]
    assert np.mean(held) > 0.9
    assert (np.mean(claimed) > 0.5) if recalls else (np.mean(claimed) < 0.06)
