"""The share of classes beyond a loss: against another optimiser, invariances, and what cannot be told."""

import numpy as np
import pytest
from scipy import optimize, stats

from tfaudit.stats.mixtures import LossMixture, can_show, strata_of_sizes


def measured(rng, loss, images=200, changed=0.01):
    """The counts lost and won and the numbers of images of classes with these losses."""
    shares = np.stack([changed + loss, np.full_like(loss, changed), 1 - 2 * changed - loss], axis=1)
    lost, won, _ = rng.multinomial(images, shares).T
    return lost, won, np.full(len(loss), images)


def interval(mixture, critical=1.96):
    """The share beyond the bound and both ends of its interval."""
    return mixture.share, mixture.least_share(critical), mixture.most_share(critical)


def log_likelihood(mixture, part, share):
    """The largest log-likelihood if a part of the losses has this share, by sequential quadratic programming."""
    start = np.where(part, share / part.sum(), (1 - share) / max((~part).sum(), 1))
    found = optimize.minimize(
        lambda weights: -mixture.classes @ np.log(mixture.likelihood @ weights + 1e-300),
        start,
        jac=lambda weights: (
            -(mixture.classes / (mixture.likelihood @ weights + 1e-300)) @ mixture.likelihood
        ),
        bounds=[(0, 1)] * len(part),
        constraints=[
            {"type": "eq", "fun": lambda weights: weights.sum() - 1},
            {"type": "eq", "fun": lambda weights: weights[part].sum() - share},
        ],
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-10},
    )
    assert found.status in (
        0,
        8,
    )  # 8: no direction that rises, because rounding is all that is left
    return -found.fun


def test_the_ends_of_the_interval_are_where_the_likelihood_ratio_test_rejects():
    rng = np.random.default_rng(0)
    truth = np.where(np.arange(80) < 20, 0.12, 0.0)
    losses = np.linspace(-0.05, 0.2, 11)
    likelihood = stats.norm.pdf(truth[:, None] + rng.normal(0, 0.03, (80, 1)), losses, 0.03)
    mixture = LossMixture(losses, likelihood, np.ones(80), 0.05)
    share, low, high = interval(mixture)
    assert low < 0.25 < high
    assert low < share < high
    best = max(log_likelihood(mixture, mixture.losses > 0.05, s) for s in np.linspace(low, high, 9))
    for end, part in ((low, mixture.losses > 0.05), (high, mixture.losses >= 0.05)):
        deviance = 2 * (best - log_likelihood(mixture, part, end))
        assert deviance == pytest.approx(stats.chi2.ppf(0.95, 1), abs=0.25)


def test_many_images_tell_the_share():
    loss = np.repeat([0.0, 0.1], [90, 10])
    counts = measured(np.random.default_rng(1), loss, images=20_000)
    share, low, high = interval(LossMixture.of_pairs(*counts, 0.05))
    assert share == pytest.approx(0.1, abs=1e-4)
    # the classes are a sample: as many as Wilks' interval of a binomial share of 10 in 100
    assert (low, high) == pytest.approx((0.051, 0.168), abs=0.01)


@pytest.mark.parametrize(("lost", "share"), [(0, (0.0, 0.0, 1.0)), (20, (1.0, 0.15, 1.0))])
def test_one_class_tells_nothing_but_about_itself(lost, share):
    one = np.array([lost]), np.array([0]), np.array([20])
    assert interval(LossMixture.of_pairs(*one, 0.05)) == pytest.approx(share, abs=0.01)


@pytest.mark.parametrize("bound", [0.0, 0.003, 0.05, 1.0])
def test_any_bound(bound):
    counts = measured(np.random.default_rng(4), np.full(60, 0.02), images=5000)
    share, low, high = interval(LossMixture.of_pairs(*counts, bound))
    assert 0 <= low <= high <= 1
    assert share == pytest.approx(float(bound < 0.02), abs=0.01)


def test_what_all_classes_gain_by_chance_is_added_to_their_losses():
    """All classes lose 4 points with these members, but 7 on average over members, beyond the bound of 5."""
    rng = np.random.default_rng(5)
    counts = measured(rng, np.full(200, 0.04), images=500)
    assert LossMixture.of_pairs(*counts, 0.05).share == pytest.approx(0, abs=0.01)
    for shift in (0.03, np.full(200, 0.03)):
        mixture = LossMixture.of_pairs(*counts, 0.05, shift=shift)
        assert mixture.share == pytest.approx(1, abs=0.01)
    half = LossMixture.of_pairs(*counts, 0.05, shift=np.repeat([0.0, 0.03], 100))
    assert half.share == pytest.approx(0.5, abs=0.1)


@pytest.mark.parametrize(
    ("sizes", "strata"),
    [
        ([50] * 1000, [1000]),
        ([500] * 92 + [20] * 8, [8, 92]),  # 8 classes of 20 images are not judged by those of 500
        ([10] * 20 + [15] * 20 + [25] * 20, [40, 20]),
        ([10, 30, 50], [2, 1]),
    ],
)
def test_strata_hold_classes_of_like_size_whatever_their_order(sizes, strata, rng):
    order = rng.permutation(len(sizes))
    found = strata_of_sizes(np.array(sizes)[order])
    assert np.bincount(found).tolist() == strata
    np.testing.assert_array_equal(found, strata_of_sizes(np.array(sizes))[order])


def test_a_class_can_show_a_loss_if_its_absence_is_more_likely_when_nothing_is_lost():
    images = np.arange(100)
    likely = stats.beta.sf(0.05, 1, images + 1)
    np.testing.assert_array_equal(can_show(images, 0.05), likely <= 0.5)
