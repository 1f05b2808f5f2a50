"""Distortion against statsmodels and the paper's example; pairing; invariances; degenerate cases."""

import numpy as np
import pytest
import statsmodels.api as sm

from tests.builders.populations import population
from tests.builders.refusals import assert_refused
from tfaudit.audits.classes.epoch_metrics import intensification
from tfaudit.extensions.distortion.recall_distortion import distortion
from tfaudit.predictions import Predictions

DENSE, PRUNED = population(1), population(2, hurt=[3])


def by_hand(predictions):
    """`(K, C)` normalised recall balances, with masks."""
    right = predictions.top1 == predictions.labels
    recall = np.stack(
        [right[:, predictions.labels == c].mean(1) for c in range(predictions.num_classes)], 1
    )
    return recall / right.mean(1, keepdims=True) - 1


def answers(*hits, names="ab"):
    """Members that get so many of 10 examples of each of two classes right."""
    labels = np.repeat([0, 1], 10)
    rows = [np.r_[np.arange(10) >= a, np.arange(10) < b].astype(int) for a, b in hits]
    return Predictions.from_top1(labels, rows, class_names=names)


def test_slopes_equal_statsmodels():
    found, before, after = distortion(DENSE, PRUNED), by_hand(DENSE), by_hand(PRUNED)
    fits = [sm.OLS(a, b).fit() for b, a in zip(before, after, strict=True)]
    np.testing.assert_allclose(found.alpha, [fit.params[0] for fit in fits], rtol=1e-9)
    together = sm.OLS(after.ravel(), before.ravel()).fit()
    assert found.pooled_slope == pytest.approx(together.params[0])
    assert found.pooled_r2 == pytest.approx(together.rsquared)
    weights = before**2
    weighted = (weights * found.intensification).sum(1) / weights.sum(
        1
    )  # [R] 5: alpha is a weighted mean of the ratios
    np.testing.assert_allclose(found.alpha, weighted)


def test_the_callback_shares_the_definition():
    epoch = [
        intensification(DENSE.labels, a, b) for a, b in zip(PRUNED.top1, DENSE.top1, strict=True)
    ]
    np.testing.assert_array_equal(distortion(DENSE, PRUNED).alpha, epoch)


def test_members_are_paired_by_name():
    shuffled = Predictions(PRUNED.labels, PRUNED.ranked[[3, 0, 5]], members=(3, 0, 9))
    found = distortion(DENSE, shuffled)
    assert found.members == (0, 3)
    np.testing.assert_array_equal(found.alpha, distortion(DENSE, PRUNED).alpha[[0, 3]])
    assert found.notes == (
        "Members of only one population are left out: 1, 2, 4, 5, 9.",
        "There is no corrected slope: classes cannot be told apart before compression.",
    )
    strangers = Predictions(PRUNED.labels, PRUNED.ranked, members="abcdef")
    parents = "the names of their dense parents, which are 0, 1"
    message = f"pruned: got members a, b, c, d, e and 1 more, expected {parents}"
    assert_refused(message, distortion, DENSE, strangers)


@pytest.mark.parametrize("metric", ["recall", "precision", "f1"])
def test_no_compression_no_distortion(metric):
    found = distortion(DENSE, DENSE, metric=metric)
    np.testing.assert_array_equal(found.alpha, 1)
    assert (found.mark().mark, found.published_mark().low, found.pooled_r2) == ("?", 1, 1)
    assert any(metric in note for note in found.notes) == (metric != "recall")


def test_frames():
    found = distortion(DENSE, PRUNED)
    frame = found.frame()
    assert len(frame) == 30
    row = frame.query("member == 2 and `class` == '3'").iloc[0]
    assert row["normalised_after"] == pytest.approx(by_hand(PRUNED)[2, 3])
    for side, each in (("before", DENSE), ("after", PRUNED)):
        balance = 100 * (each.recall()[2, 3] - each.accuracy()[2])
        assert row[f"balance_{side}_pp"] == pytest.approx(balance)
    assert row["intensification"] == pytest.approx(
        row["normalised_after"] / row["normalised_before"]
    )
    members = found.members_frame()
    np.testing.assert_array_equal(members["alpha"], found.alpha)
    summary = found.summary()
    assert summary["alpha"] == pytest.approx(members["alpha"].mean())
    assert (summary["classes"], summary["members"]) == (5, 6)
    assert summary["accuracy_after"] == pytest.approx(PRUNED.accuracy().mean())


def test_a_class_without_examples_does_not_count():
    found = distortion(population(1, empty=[2]), population(2, empty=[2]))
    assert np.isfinite(found.alpha).all()
    assert np.isnan(found.intensification[:, 2]).all()
    assert set(found.frame()["class"]) == set("0134")
    assert found.summary()["classes"] == 4
    assert np.isfinite(found.members_frame()["variance_before"]).all()
    assert found.notes[0] == "Classes without test examples do not count: 2."


def test_slopes_and_mean_ratios_spread_over_the_models():
    """[R] appendix G: mean, sd, least and most of the slopes, and of each model's mean ratio."""
    spread = distortion(DENSE, PRUNED).spread_frame().set_index("measure")
    before, after = by_hand(DENSE), by_hand(PRUNED)
    slopes = [sm.OLS(a, b).fit().params[0] for b, a in zip(before, after, strict=True)]
    for name, values in (
        ("slope", slopes),
        ("mean of the ratios", np.mean(after / before, axis=1)),
    ):
        expected = [6, np.mean(values), np.std(values, ddof=1), np.min(values), np.max(values)]
        np.testing.assert_allclose(spread.loc[name].astype(float), expected)
    unknown = distortion(
        answers((5, 5)), answers((7, 5))
    ).spread_frame()  # no balance before, so no ratio
    assert unknown["members"].tolist() == [0, 0]
    assert unknown["mean"].isna().all()


def test_undefined_slopes_are_nan_and_noted():
    found = distortion(answers((9, 7), (8, 8), (9, 7)), answers((9, 7), (9, 7), (0, 0)))
    np.testing.assert_array_equal(found.alpha, [1, np.nan, np.nan])
    assert np.isnan(found.intensification[1:]).all()
    assert found.pooled_slope == 1
    assert np.isnan(found.summary()["alpha"])
    assert found.mark().mark == "?"
    assert "undefined for members 1, 2" in found.notes[0]


def test_classes_are_means_over_members_and_keep_apart_where_their_names_are_alike():
    both = (population(i, classes=4, empty=[2], hurt=[3] * (i - 1)) for i in (1, 2))
    names = ("crane", "dog", "owl", "crane")
    found = distortion(*(Predictions(each.labels, each.ranked, class_names=names) for each in both))
    classes = found.classes_frame()
    assert classes["class"].to_list() == ["crane", "dog", "crane"]
    np.testing.assert_allclose(classes["rate_after"], found.rates_after[:, [0, 1, 3]].mean(0))
    ratio = found.normalised_after[:, [0, 1, 3]].mean(0) / found.normalised_before[
        :, [0, 1, 3]
    ].mean(0)
    np.testing.assert_allclose(classes["intensification"], ratio)
    assert classes["examples"].to_list() == found.examples[[0, 1, 3]].tolist()
    assert set(classes) == set(found.frame()) - {"member"}
