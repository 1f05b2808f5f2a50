"""Moderated variances between members: against maximum likelihood, and the claims made with them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import optimize, stats

from tests.builders.heterogeneous import heterogeneous_study
from tests.builders.nightly import and_nightly, noise, seeds
from tests.builders.simulated_studies import CLASSES, Truth, simulate
from tfaudit.audits.comparison import Comparison
from tfaudit.stats.changes import group_changes
from tfaudit.stats.multiplicity import adjust


def moderated_variances(own, freedom, prior):
    """The posterior variances and their scale by maximum likelihood of an F distribution with 1 degree of freedom."""
    ratios = own / prior
    found = optimize.minimize_scalar(
        lambda log: -np.sum(stats.f.logpdf(ratios / np.exp(log), freedom, 1) - log),
        bounds=(-15, 15),
        method="bounded",
        options={"xatol": 1e-10},
    )
    return (np.exp(found.x) * prior + freedom * own) / (freedom + 1)


@pytest.mark.parametrize(("members", "paired"), [(2, True), (3, False), (6, True)])
def test_moderated_variances_are_those_of_maximum_likelihood(members, paired):
    before, after = simulate(Truth(paired=paired), 1, members=members)
    comparison = Comparison(before, after)
    plain = comparison.class_changes(moderated=False).absolute
    moderated = comparison.class_changes().absolute
    recall = (before.recall().mean(0) + after.recall().mean(0)) / 2
    slope = stats.norm.pdf(stats.norm.ppf(recall)) ** 2
    beyond = (plain.of_members - plain.overlap).sum() / slope.sum()
    prior = plain.overlap + max(beyond, 0) * slope
    expected = moderated_variances(plain.of_members, plain.df_members, prior)
    assert_allclose(moderated.of_members, expected, rtol=1e-4)
    assert_array_equal(moderated.df_members, plain.df_members + 1)
    for name in ("value", "of_images", "overlap", "df_images"):
        assert_array_equal(getattr(moderated, name), getattr(plain, name))
    widths = [np.diff(change.interval(), axis=0).mean() for change in (plain, moderated)]
    assert widths[1] < widths[0]


@pytest.mark.parametrize(("members", "count"), [(3, 9), (1, 12)])
def test_few_groups_and_single_members_are_not_moderated(rng, members, count):
    before, after = heterogeneous_study(rng, members, 600, paired=True)
    changes = group_changes(before, after, np.arange(600) % count, count, paired=True)
    assert changes.absolute.moderated(np.full(count, 0.7)) is changes.absolute


def test_groups_without_images_or_without_changes_are_moderated_to_numbers(rng):
    before, after = heterogeneous_study(rng, 2, 600, paired=True)
    groups = np.arange(600) % 12
    after[:, groups == 0] = before[:, groups == 0]
    changes = group_changes(before, after, groups, 13, paired=True)
    moderated = changes.moderated(np.full(13, 0.7))
    for change in (moderated.absolute, moderated.relative):
        assert_array_equal(np.isnan(change.error), np.arange(13) == 12)
        assert (change.of_members[:12] > 0).all()
    same = group_changes(before, before, groups, 12, paired=True).absolute
    assert same.moderated(np.full(12, 0.7)) is same


UNEQUAL = {
    "alike": {},
    "one class": {"Coat": 5.0},
    "all classes": dict(zip(CLASSES, np.geomspace(0.4, 2.5, 10), strict=True)),
}
"""How much more members differ in their knack for classes than in others."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("differ", "members", "paired", "studies"),
    and_nightly(
        [("one class", 2, True, 40)],
        [
            (differ, members, paired, 400)
            for differ in UNEQUAL
            for members in (2, 3, 5)
            for paired in (True, False)
        ],
    ),
)
def test_moderated_intervals_hold_and_their_claims_are_right(differ, members, paired, studies):
    """Nothing changes: 95 % of the intervals say so, and corrected claims err in 5 % of studies."""
    truth = Truth(paired=paired, knack=UNEQUAL[differ])
    held, false = [], []
    for seed in seeds(studies):
        change = Comparison(*simulate(truth, seed, members=members)).class_changes().absolute
        low, high = change.interval()
        held.append(np.mean((low <= 0) & (high >= 0)))
        false.append((adjust(change.p(), "holm") <= 0.05).any())
    assert np.mean(held) >= 0.95 - 3.1 * np.std(held) / np.sqrt(studies)
    assert np.mean(false) <= 0.05 + noise(0.05, studies)
