"""Calibration before and after compression: against scikit-learn and brute force, its invariances, its intervals."""

import numpy as np
import pandas as pd
import pytest
from scipy import special
from sklearn import metrics

from tests.builders.nightly import and_nightly
from tests.builders.populations import population
from tests.builders.two_way_reference import two_way
from tfaudit.extensions.calibration.calibration import calibration
from tfaudit.extensions.calibration.reliability import mass_bins
from tfaudit.predictions import Predictions

BEFORE, AFTER = population(1), population(2, hurt=[3], noise=1.6)


def debiased(confidence, right):
    """Squared gaps of 15 bins, less the variance of each bin's mean, weighted by the predictions of the bins."""
    bins = mass_bins(confidence)
    gaps = [(right - confidence)[bins == b] for b in np.unique(bins)]
    return sum(len(g) * (g.mean() ** 2 - g.var(ddof=1) / len(g)) for g in gaps) / len(confidence)


def brute_force(population):
    """Every measure, written out member by member; means over the members."""
    labels, out = population.labels, []
    for classes, probabilities in zip(
        population.ranked, population.probabilities.astype(float), strict=True
    ):
        by_class = np.take_along_axis(probabilities, np.argsort(classes, 1), 1)
        right, top = classes[:, 0] == labels, probabilities[:, 0]
        out.append(
            {
                "confidence": top.mean(),
                "overconfidence": top.mean() - metrics.accuracy_score(labels, classes[:, 0]),
                "margin": np.mean([row[0] - row[1] for row in np.sort(by_class, 1)[:, ::-1]]),
                "squared calibration error": debiased(top, right),
                "Brier score": sum(
                    metrics.brier_score_loss(labels == c, by_class[:, c].clip(0, 1))
                    for c in range(5)
                ),
                "negative log-likelihood": metrics.log_loss(
                    labels, by_class / by_class.sum(1, keepdims=True)
                ),
            }
        )
    means = pd.DataFrame(out).mean()
    top, right = population.probabilities[..., 0].astype(float), population.correct() == 1
    return {
        **means,
        "confidence where right": top[right].mean(),
        "confidence where wrong": top[~right].mean(),
    }


def test_measures_are_those_of_other_implementations():
    frame = calibration(BEFORE, AFTER).frame().set_index("measure")
    expected = pd.DataFrame({"before": brute_force(BEFORE), "after": brute_force(AFTER)}).loc[
        frame.index
    ]
    np.testing.assert_allclose(frame[["before", "after"]], expected, rtol=2e-5)
    np.testing.assert_allclose(frame["change"], frame["after"] - frame["before"])
    assert len(frame) == 8


@pytest.mark.parametrize("paired", [False, True])
def test_intervals_are_over_images_and_members(paired):
    rows = calibration(BEFORE, AFTER, paired=paired).frame().set_index("measure")
    sides = [(p.probabilities[..., 0].astype(float) - p.correct()) for p in (BEFORE, AFTER)]
    expected = two_way(*sides, paired=paired)
    row = rows.loc["overconfidence"]
    figures = row[["change", "change_low", "change_high", "change_p"]].astype(float)
    np.testing.assert_allclose(figures, expected, rtol=2e-4)
    classes = calibration(BEFORE, AFTER, paired=paired).class_frame()
    expected = two_way(*(side[:, BEFORE.labels == 3] for side in sides), paired=paired)
    figures = classes.loc[3, ["change_pp", "change_low_pp", "change_high_pp"]].astype(float)
    np.testing.assert_allclose(figures, 100 * np.array(expected[:3]), rtol=2e-4)


def test_without_all_probabilities_there_is_no_score_that_needs_them():
    before, after = population(1, ranks=3), population(2, ranks=3)
    result = calibration(before, after)
    assert not set(result.frame()["measure"]) & {"Brier score", "negative log-likelihood"}
    assert "only 3 of 5 classes are stored" in result.notes[0]


def test_a_perfect_population_has_no_wrong_predictions():
    labels = np.arange(100) % 2
    sure = Predictions.from_scores(labels, np.stack([np.eye(2)[labels]] * 3))
    frame = calibration(sure, sure).frame().set_index("measure")
    assert np.isnan(frame.loc["confidence where wrong", "before"])
    assert frame.loc["Brier score", "after"] == 0


@pytest.mark.slow
@pytest.mark.parametrize(("shift", "studies"), and_nightly([(0.8, 30)], [(0.0, 300), (0.8, 300)]))
def test_intervals_cover_the_change_on_new_images_with_new_members(shift, studies):
    """Compression sharpens logits by `shift`; the truth is that of many images."""
    rng = np.random.default_rng(5)

    def drawn(members, images):
        labels = rng.integers(4, size=images)
        ease = rng.normal(0, 1.2, (images, 4)) + 1.8 * np.eye(4)[labels]
        sides = []
        for sharpness in (1.0, 1.0 + shift):
            own = rng.normal(0, 0.5, (members, images, 4)) + rng.normal(0, 0.1, (members, 1, 4))
            sharp = sharpness * np.exp(rng.normal(0, 0.1, (members, 1, 1)))
            sides.append(
                Predictions.from_scores(labels, special.softmax(sharp * (ease + own), -1), k=4)
            )
        return sides

    large = [
        calibration(*drawn(6, 10_000)).frame().set_index("measure")["change"] for _ in range(4)
    ]
    truth = sum(large) / len(large)
    covered = []
    for _ in range(studies):
        frame = calibration(*drawn(4, 400)).frame().set_index("measure")
        covered.append((frame["change_low"] <= truth) & (truth <= frame["change_high"]))
    shares = pd.DataFrame(covered).mean()
    assert shares.min() > 0.86


def test_no_change_of_calibration_reaches_beyond_its_ends():
    """Two members, one sure and one not, before and after: the intervals of all shares end where the changes do."""
    labels = np.arange(60) % 3
    sides = []
    for sure in ((0.98, 0.4), (0.4, 0.98)):
        scores = np.stack([share * np.eye(3)[labels] + (1 - share) / 3 for share in sure])
        sides.append(Predictions.from_scores(labels, scores))
    result = calibration(*sides)
    measures = result.frame().set_index("measure")
    ends = measures[["change_low", "change_high"]].abs().max(axis=1).dropna()
    assert ends.drop("negative log-likelihood").le(2).all()
    assert ends[["confidence", "confidence where right", "margin"]].eq(1).all()
    assert ends["overconfidence"] > 1
    assert result.class_frame()[["change_low_pp", "change_high_pp"]].abs().le(200).all(axis=None)
