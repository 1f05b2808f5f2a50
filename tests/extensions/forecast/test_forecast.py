"""The forecast by margins: its order, its quality against scikit-learn, and intervals in simulations of known truth."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from tests.builders.delong import delong_covariance
from tests.builders.nightly import and_nightly, seeds
from tests.builders.refusals import assert_refused
from tfaudit import Predictions, forecast
from tfaudit.extensions.forecast.declaration import findings
from tfaudit.extensions.forecast.quality import LOOKED_AT, forecast_quality


def pair_of(seed, members=3, images=1000, noise=1.0, differ=0.5, spread=0.3):
    """A population whose logits get noise, so that small margins change first; its members differ in strength."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 5, images)
    common = 2 * rng.normal(size=(1, images, 5))
    logits = common + differ * rng.normal(size=(members, images, 5))
    strength = noise * np.exp(spread * rng.normal(size=(members, 1, 1)))
    changed = logits + strength * rng.normal(size=logits.shape)
    dense = Predictions.from_scores(labels, logits, scores_are="logits")
    return dense, Predictions.from_scores(
        labels, changed, scores_are="logits", parents=range(members)
    )


def test_the_smallest_margins_come_first():
    scores = np.array([[[0.6, 0.4, 0.0], [0.1, 0.8, 0.1]], [[0.9, 0.1, 0.0], [0.1, 0.4, 0.5]]])
    result = forecast(Predictions.from_scores([0, 1], scores, class_names=["cat", "dog", "owl"]))
    assert result.frame()["margin"].tolist() == pytest.approx([(0.7 + 0.1) / 2, (0.2 + 0.8) / 2])
    assert result.frame()["example"].tolist() == [1, 0]
    assert result.frame()["class"].tolist() == ["dog", "cat"]
    assert result.frame()["prediction"].tolist() == ["dog or owl", "cat"]
    assert result.frame()["second"].tolist() == ["dog or owl", "dog"]
    assert result.summary()["margins_below_0.5"] == 1


def test_prediction_and_second_are_the_two_classes_between_which_members_waver():
    dense, _ = pair_of(0, members=4)
    frame = forecast(dense).frame()
    mean = np.zeros((1000, 5))
    for member in range(4):
        best = dense.ranked[member, :, :2]
        np.put_along_axis(
            mean,
            best,
            np.take_along_axis(mean, best, 1) + dense.member_probabilities(member)[:, :2],
            1,
        )
    np.put_along_axis(mean, dense.modal()[:, None], -1, 1)
    assert frame["example"].tolist() == dense.example_ids[frame["index"]].tolist()
    voted = frame[frame["prediction"].str.len() == 1]
    assert 900 < len(voted) < 1000
    assert voted["second"].astype(int).tolist() == mean.argmax(1)[voted["index"]].tolist()
    assert (voted["second"] != voted["prediction"]).all()


@pytest.mark.parametrize(
    ("ranks", "seconds"),
    [
        (5, ["owl", "cat or owl", "cow or dog or elk or owl"]),
        (3, ["owl", "several", "several"]),
    ],
)
def test_classes_that_tie_for_the_second_place_are_all_named_or_called_several(ranks, seconds):
    scores = np.array([[0.5, 0.125, 0.25, 0.125, 0], [0.2, 0.4, 0.2, 0.1, 0.1], [1, 0, 0, 0, 0]])
    names = ["cat", "dog", "owl", "cow", "elk"]
    dense = Predictions.from_scores([0, 1, 0], scores, k=ranks, class_names=names)
    assert forecast(dense).frame().sort_values("index")["second"].tolist() == seconds


def test_the_separation_is_the_mean_area_over_the_pairs():
    dense, compressed = pair_of(0)
    result = forecast_quality(dense, compressed)
    best = np.sort(dense.probabilities, axis=2)
    changed = dense.top1 != compressed.top1
    areas = [
        roc_auc_score(flips, -(rows[:, -1] - rows[:, -2]))
        for flips, rows in zip(changed, best, strict=True)
    ]
    assert result.separation == pytest.approx(np.mean(areas))
    assert result.low < result.separation < result.high
    assert result.changes == changed.sum(1).mean()
    frame = result.frame()
    assert frame["looked_share"].tolist() == list(LOOKED_AT)
    assert frame["found_share"].is_monotonic_increasing
    tenth = np.argsort(best[..., -1] - best[..., -2], axis=1)[:, :100]
    found = np.take_along_axis(changed, tenth, 1).sum() / changed.sum()
    assert frame["found_share"].iloc[3] == pytest.approx(found)


def test_the_interval_of_one_pair_is_that_of_delong():
    dense, compressed = pair_of(0, members=1)
    best = np.sort(dense.probabilities[0], axis=1)
    changed = (dense.top1 != compressed.top1)[0].astype(int)
    error = np.sqrt(delong_covariance([best[:, -2] - best[:, -1]] * 2, changed)[0, 0])
    result = forecast_quality(dense, compressed)
    assert (result.high - result.low) / 2 == pytest.approx(1.962 * error, rel=1e-3)


def test_few_changes_have_no_interval_and_no_finding():
    dense, _ = pair_of(0, members=1)
    top1 = dense.top1.copy()
    top1[0, :5] = (top1[0, :5] + 1) % 5
    result = forecast_quality(dense, Predictions.from_top1(dense.labels, top1))
    assert result.changes == 5
    assert np.isnan(result.low)
    assert not [*findings("int8", result)]


def test_margins_that_tell_nothing_are_called_so():
    rng = np.random.default_rng(0)
    dense, _ = pair_of(0, members=1)
    changed = rng.random(1000) < 0.1
    top1 = np.where(changed, (dense.top1 + 1) % 5, dense.top1)
    (finding,) = findings("x", forecast_quality(dense, Predictions.from_top1(dense.labels, top1)))
    assert "margins do not tell which change" in finding


def test_bad_input_is_one_line():
    dense, _ = pair_of(0)
    top1 = Predictions.from_top1(dense.labels, dense.top1)
    assert_refused(
        "predictions: got classes without the probabilities of the two best", forecast, top1
    )
    unpaired = Predictions.from_top1(dense.labels, dense.top1)
    assert_refused("paired: got independent members", forecast_quality, dense, unpaired)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("members", "studies"), and_nightly([(3, 40)], [(1, 400), (3, 400), (10, 200)])
)
def test_intervals_cover_the_separation_of_new_images_and_members(members, studies):
    spread = 0.3 if members > 1 else 0  # an interval of one pair is about this pair
    many = [forecast_quality(*pair_of(10**6 + i, 20, 4000, spread=spread)) for i in range(8)]
    truth = np.mean([result.separation for result in many])
    covered = []
    for seed in seeds(studies):
        result = forecast_quality(*pair_of(seed, members, spread=spread))
        covered.append(result.low <= truth <= result.high)
    share = np.mean(covered)
    assert share >= 0.95 - 3.1 * np.sqrt(0.05 * 0.95 / studies)
