"""Class impact against SciPy, statsmodels and hand counts; its invariances; its degenerate cases; its calibration."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests

from tests.builders.populations import population
from tfaudit.audits.classes.classes import class_impact
from tfaudit.audits.model_pair.model_pair import compare
from tfaudit.errors import InputError
from tfaudit.predictions import Predictions

BEFORE, AFTER = population(1), population(2, hurt=[3])


def recall_by_hand(predictions):
    """`(K, C)`, an independent way: masks instead of counts."""
    right = predictions.ranked[:, :, 0] == predictions.labels
    return np.stack(
        [right[:, predictions.labels == c].mean(1) for c in range(predictions.num_classes)], 1
    )


@pytest.mark.parametrize("centering", ["member", "population", "none", "ratio"])
def test_equals_scipy(centering):
    samples = []
    for each in (AFTER, BEFORE):
        accuracy = (each.ranked[:, :, 0] == each.labels).mean(1, keepdims=True)
        shift = {"member": accuracy, "population": accuracy.mean(), "none": 0}.get(centering)
        samples.append(
            recall_by_hand(each) / accuracy
            if centering == "ratio"
            else recall_by_hand(each) - shift
        )
    reference = stats.ttest_ind(*samples, equal_var=False)
    impact = class_impact(BEFORE, AFTER, centering=centering)
    np.testing.assert_allclose(impact.published.p, reference.pvalue, rtol=1e-8)
    np.testing.assert_allclose(impact.published.t, reference.statistic, rtol=1e-8)
    frame = impact.frame()
    interval = reference.confidence_interval(0.95)
    np.testing.assert_allclose(frame["published_low_pp"], 100 * interval.low, rtol=1e-8)
    np.testing.assert_allclose(frame["published_high_pp"], 100 * interval.high, rtol=1e-8)


def test_equals_hand_counts():
    impact = class_impact(BEFORE, AFTER)
    before, after = recall_by_hand(BEFORE), recall_by_hand(AFTER)
    frame = impact.frame()
    np.testing.assert_allclose(frame["recall_before"], before.mean(0))
    np.testing.assert_allclose(frame["change_pp"], 100 * (after - before).mean(0))
    np.testing.assert_allclose(frame["relative_recall"], (after / before).mean(0))
    overall = AFTER.accuracy().mean() - BEFORE.accuracy().mean()
    np.testing.assert_allclose(frame["published_pp"], frame["change_pp"] - 100 * overall, atol=1e-9)
    assert list(frame["examples"]) == [40] * 5
    for method, column in (("holm", "published_p_holm"), ("fdr_bh", "published_p_bh")):
        np.testing.assert_allclose(
            frame[column], multipletests(impact.published.p, method=method)[1]
        )


@pytest.mark.parametrize(
    ("correction", "column"),
    [("none", "published_p"), ("holm", "published_p_holm"), ("bh", "published_p_bh")],
)
def test_directions_follow_the_correction(correction, column):
    impact = class_impact(BEFORE, population(2, hurt=[3], noise=1.15), alpha=0.1)
    frame = impact.frame(correction)
    assert set(frame.loc[frame[column] > 0.1, "published_direction"]) == {"no evidence"}
    found = frame[frame[column] <= 0.1]
    assert list(found["published_direction"]) == [
        "worse than average" if d < 0 else "better than average" for d in found["published_pp"]
    ]
    assert (
        len(found)
        == impact.summary()[
            "published_significant" + {"none": ""}.get(correction, f"_{correction}")
        ]
        > 0
    )


def test_zero_denominators_are_counted():
    before = Predictions.from_top1([0, 0, 1, 1], [[1, 1, 1, 1], [0, 0, 1, 1]])
    after = Predictions.from_top1([0, 0, 1, 1], [[0, 0, 1, 0], [0, 0, 1, 0]])
    impact = class_impact(before, after)
    np.testing.assert_array_equal(impact.relative_recall, [np.nan, 0.5])
    np.testing.assert_array_equal(impact.zero_denominators, [1, 0])
    assert "Relative recall is undefined for 1 class" in impact.notes[0]


def test_equal_shifts_are_no_variance():
    """Recalls of .9 and .7 minus accuracies of .8 and .6 differ in the last bit only."""
    labels = np.repeat([0, 1], 10)

    def members(*hits):
        return Predictions.from_top1(
            labels, [np.r_[np.arange(10) >= a, np.arange(10) < b].astype(int) for a, b in hits]
        )

    impact = class_impact(members((9, 7), (7, 5)), members((8, 8), (6, 6)))
    np.testing.assert_array_equal(
        impact.published.p, 2 / 6
    )  # the smallest that two members a side can reach
    impact = class_impact(members((9, 7), (7, 5)), members((8, 6), (6, 4)))
    np.testing.assert_array_equal(impact.published.p, 1)


def test_single_members_are_sent_elsewhere():
    one = population(1, members=1)
    with pytest.raises(
        InputError, match=r"compressed: got 1 member.*--population.*tfaudit\.compare"
    ):
        class_impact(BEFORE, one)


@pytest.mark.parametrize(
    ("other", "options", "message"),
    [
        (AFTER, {"centering": "median"}, "centering: got 'median'"),
        (population(2, classes=4), {}, "compressed: got 4 classes, expected 5"),
        (
            Predictions(AFTER.labels[::-1], AFTER.ranked),
            {},
            "labels that differ .* first 4 at 0, expected 0",
        ),
        (
            Predictions(AFTER.labels, AFTER.ranked, example_ids=np.arange(200)[::-1]),
            {},
            "example_ids that differ",
        ),
        (Predictions(AFTER.labels, AFTER.ranked, class_names="abcde"), {}, "different class_names"),
    ],
)
def test_bad_input(other, options, message):
    with pytest.raises(InputError, match=message):
        class_impact(BEFORE, other, **options)


def _right(labels, recalls, rng, classes=10):
    """Members right with the given recall of each class, `(K, C)`."""
    top1 = [
        np.where(rng.random(len(labels)) < row[labels], labels, (labels + 1) % classes)
        for row in recalls
    ]
    return np.stack(top1)


def test_a_collapsed_class_is_named_whatever_its_p(rng):
    """Coat of Fashion-MNIST: 69 to 23 %, never predicted by two of four members; four members are too few to test."""
    labels, recalls = np.repeat(np.arange(10), 1000), np.full((4, 10), 0.85)
    recalls[:, 4] = 0.69
    before = Predictions.from_top1(labels, _right(labels, recalls, rng))
    recalls = recalls - 0.01
    recalls[:, 4] = [0.0, 0.46, 0.0, 0.46]
    frame = class_impact(
        before, Predictions.from_top1(labels, _right(labels, recalls, rng))
    ).frame()
    assert list(frame.index[frame["collapsed"]]) == [4]
    assert frame["lowest_recall"][4] == 0
    assert frame["change_pp"][4] == pytest.approx(-46, abs=2)
    assert frame["published_p"][4] > 0.05
    assert frame["verdict"][4] == "cannot tell"


def test_pairs_find_what_independent_members_hide(rng):
    """Members differ by ten points; each loses 2 points of one class when it is quantized."""
    labels, members = np.repeat(np.arange(3), 1000), 5
    strength = rng.normal(0.8, 0.05, (members, 1)) + np.zeros((members, 3))
    before = _right(labels, strength, rng, 3)
    after = before.copy()
    for row in after:
        hits = np.flatnonzero((row == 1) & (labels == 1))
        row[rng.choice(hits, 40, replace=False)] = 0
    baseline, members = Predictions.from_top1(labels, before), range(5)
    paired = class_impact(baseline, Predictions.from_top1(labels, after, parents=members)).frame()
    independent = class_impact(baseline, Predictions.from_top1(labels, after)).frame()
    assert (paired["verdict"][1], independent["verdict"][1]) == ("lost recall", "cannot tell")
    assert paired["published_p"].equals(independent["published_p"])
    asked = class_impact(baseline, Predictions.from_top1(labels, after), paired=True).frame()
    pd.testing.assert_frame_equal(asked, paired)


def test_two_classes_are_one_question_relative_to_both(rng):
    """Relative to both, one class gains what the other loses: one test, which Holm must not double."""
    labels = np.repeat([0, 1], 500)
    before, after = (
        Predictions.from_top1(labels, _right(labels, np.full((4, 2), r), rng, 2))
        for r in (0.9, 0.88)
    )
    frame = class_impact(before, after).frame()
    assert frame["relative_p_holm"].equals(frame["relative_p"].rename("relative_p_holm"))
    np.testing.assert_allclose(frame["relative_pp"][0], -frame["relative_pp"][1])
    assert (frame["change_p_holm"] >= frame["change_p"]).all()


@pytest.mark.parametrize(("images", "collapsed"), [(1, False), (4, False), (8, True), (50, True)])
def test_single_images_are_no_collapse(images, collapsed):
    """One photograph of every class of ImageNet: a class whose only image is lost is not blind."""
    labels = np.repeat(np.arange(10), images)
    before, after = (
        Predictions.from_top1(labels, [np.where(labels == 3, wrong, labels)]) for wrong in (3, 4)
    )
    assert (
        compare(before, after).frame()["collapsed"].tolist()
        == [False] * 3 + [collapsed] + [False] * 6
    )
    p = stats.fisher_exact([[images, 0], [0, images]], alternative="greater").pvalue
    assert collapsed is bool(p < 0.05 / 20)
