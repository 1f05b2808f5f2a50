"""Intervals over images and members: against a bootstrap of both, against formulas, and for their coverage."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import optimize, stats

from tests.builders.heterogeneous import heterogeneous_study
from tests.builders.nightly import and_nightly, noise, seeds
from tests.builders.simulated_studies import CLASSES, Truth, clustered, simulate
from tfaudit.audits.comparison import Comparison
from tfaudit.stats.multiplicity import adjust
from tfaudit.stats.ties import BestClasses, Ties
from tfaudit.stats.two_way import (
    Change,
    critical_value,
    flips,
    group_changes,
    log_ratio,
    mean_change,
    negative_flips,
    total_change,
)


def bootstrap(before, after, groups, *, paired, rng, times=2000):
    """Standard errors of both changes of group 0 by the pigeonhole bootstrap: members and images resampled apart."""
    changes = []
    for _ in range(times):
        first = rng.integers(len(before), size=len(before))
        second = first if paired else rng.integers(len(after), size=len(after))
        weights = np.concatenate(
            [
                rng.choice(np.flatnonzero(groups == g), (groups == g).sum())
                for g in np.unique(groups)
            ]
        )
        differences = after[second].mean(0)[weights] - before[first].mean(0)[weights]
        own = differences[groups[weights] == 0].mean()
        changes.append((own, own - differences.mean()))
    return np.std(changes, axis=0)


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


def _centre_and_margin(change):
    return change.value, change.interval(0.95)[1] - change.value


def residual_variance(values):
    """Variance of the mean of `(K, N)` that the interaction of members and images contributes."""
    residuals = values - values.mean(0) - values.mean(1, keepdims=True) + values.mean()
    members, images = values.shape
    return np.square(residuals).sum() / ((members - 1) * (images - 1)) / (members * images)


@pytest.mark.parametrize("paired", [True, False])
@pytest.mark.parametrize(("members", "images"), [(30, 60), (15, 400)])
def test_widths_are_those_of_the_pigeonhole_bootstrap(members, images, paired, rng):
    """The bootstrap counts the interaction of images and members three times (Owen 2007), which is taken off here."""
    before, after = heterogeneous_study(rng, members, 3 * images, paired=paired)
    groups = np.arange(3 * images) % 3
    changes = group_changes(before, after, groups, 3, paired=paired, continuous=True)
    own, relative = bootstrap(before, after, groups, paired=paired, rng=rng)
    sides = [after[:, groups == 0].astype(float), before[:, groups == 0].astype(float)]
    sides = [sides[0] - sides[1]] if paired else sides
    expected = np.sqrt(own**2 - 2 * sum(map(residual_variance, sides)))
    assert changes.absolute.error[0] == pytest.approx(expected, rel=0.1)
    assert 0.7 < changes.relative.error[0] / relative < 1.1


@pytest.mark.parametrize("paired", [True, False])
def test_the_logarithm_of_a_ratio_is_that_of_a_bootstrap(paired, rng):
    """Of errors, which are rare: numerator and denominator are drawn together, neither is known."""
    before, after = (1.0 - side for side in heterogeneous_study(rng, 20, 600, paired=paired))
    everywhere = np.zeros(600, int)
    found = log_ratio(before, after, everywhere, 1, paired=paired)
    ratios = []
    for _ in range(2000):
        first = rng.integers(20, size=20)
        second = first if paired else rng.integers(20, size=20)
        images = rng.integers(600, size=600)
        means = [
            side[members][:, images].mean() for side, members in ((before, first), (after, second))
        ]
        ratios.append(np.log(means[1] / means[0]))
    assert found.value[0] == pytest.approx(np.log(after.mean() / before.mean()))
    parts = [after / after.mean(), before / before.mean()]
    parts = [parts[0] - parts[1]] if paired else parts
    expected = np.sqrt(np.var(ratios) - 2 * sum(map(residual_variance, parts)))
    assert found.error[0] == pytest.approx(expected, rel=0.1)
    swapped = log_ratio(after, before, everywhere, 1, paired=paired)
    assert_allclose([swapped.value, swapped.error], [-found.value, found.error])


@pytest.mark.parametrize(("before", "after"), [(0.05, 0.06), (0.3, 0.45)])
def test_the_interval_of_a_ratio_of_single_models_holds_it(before, after, rng):
    """Errors of one model against one: four of five images stay as hard as they were."""
    held = []
    for _ in range(400):
        hardness, other = rng.random((2, 1, 300))
        later = np.where(rng.random((1, 300)) < 0.8, hardness, other)
        sides = (hardness < before) * 1.0, (later < after) * 1.0
        low, high = log_ratio(*sides, np.zeros(300, int), 1, paired=True).interval()
        held.append(low[0] <= np.log(after / before) <= high[0])
    assert np.mean(held) >= 0.95 - noise(0.95, 400)


def test_a_ratio_without_a_logarithm_has_no_error():
    some = np.array([[1, 0, 1], [0, 0, 1]])
    for before, after in ((some, 0 * some), (0 * some, some)):
        assert np.isnan(log_ratio(before, after, np.zeros(3, int), 1, paired=True).error).all()


@pytest.mark.parametrize("paired", [True, False])
def test_a_sum_over_sets_of_other_images_is_that_of_a_bootstrap(paired, rng):
    """Corrupted images less clean ones, where they are others: members are drawn once for both sets, images apart."""
    before, after = heterogeneous_study(rng, 20, 500, paired=paired)
    signs, sets = np.r_[np.ones(300), -np.ones(200)], np.repeat([0, 1], [300, 200])
    before, after = before * signs, after * signs
    change = total_change(before, after, sets, 2, paired=paired)
    assert change.value[0] == pytest.approx(
        sum((after - before)[:, sets == group].mean() for group in (0, 1))
    )
    sums = []
    for _ in range(2000):
        first = rng.integers(20, size=20)
        second = first if paired else rng.integers(20, size=20)
        images = after[second].mean(0) - before[first].mean(0)
        sums.append(
            sum(rng.choice(images[sets == group], (sets == group).sum()).mean() for group in (0, 1))
        )
    sides = [after - before] if paired else [after, before]
    overlap = sum(residual_variance(side[:, sets == group]) for side in sides for group in (0, 1))
    assert change.error[0] == pytest.approx(np.sqrt(np.var(sums) - 2 * overlap), rel=0.1)
    one_set = total_change(before, after, np.zeros(500, int), 1, paired=paired)
    expected = group_changes(before, after, np.zeros(500, int), 1, paired=paired).absolute
    assert np.ravel(one_set.interval()) == pytest.approx(np.ravel(expected.interval()))


def test_one_model_a_side_is_the_interval_of_a_mean(rng):
    before, after = rng.random((1, 300)) < 0.9, rng.random((1, 300)) < 0.8
    changes = group_changes(before, after, np.zeros(300, int), 1, paired=True)
    differences = after[0].astype(float) - before[0]
    low, high = stats.t.interval(0.95, 299, differences.mean(), stats.sem(differences))
    assert np.ravel(changes.absolute.interval(0.95)) == pytest.approx((low, high))
    assert changes.absolute.p()[0] == pytest.approx(stats.ttest_1samp(differences, 0).pvalue)


def test_images_without_variance_leave_the_members(rng):
    """Where all images of a member are alike, the interval is that of Student over the members."""
    right = rng.random((6, 1)) < 0.5
    before, after = np.ones((6, 40), bool), np.repeat(right, 40, axis=1)
    changes = group_changes(before, after, np.zeros(40, int), 1, paired=True, continuous=True)
    low, high = stats.t.interval(0.95, 5, right.mean() - 1, stats.sem(right[:, 0].astype(float)))
    assert np.ravel(changes.absolute.interval(0.95)) == pytest.approx((low, high))


def test_no_group_is_surer_than_if_one_more_image_had_been_lost_and_another_won(rng):
    """A group of few images does not rely on others: all members may lose an image that is not among them."""
    groups = np.repeat([0, 1, 2, 3, 4], 40)
    before, after = np.ones((30, 200), bool), np.ones((30, 200), bool)
    after[:12, 0] = after[:24, 1] = after[:6, 40] = False  # the images lose .4, .8 and .2
    after[:, 120:160] = False
    after[:, 160:] = rng.random((30, 40)) < 0.5  # 40 images that change by themselves
    error = group_changes(before, after, groups, 5, paired=True).absolute.error
    lost = np.array([0.4**4 + 0.8**4, 0.2**4, 0, 40])
    least = np.sqrt(lost * (1 - lost / 40) + 2) / 42  # Bonett and Price (2012): b = c = 1 of n + 2
    assert error[[1, 2, 3]] == pytest.approx(least[1:])
    assert error[0] >= least[0]
    one = group_changes(before[:1], after[:1], groups, 5, paired=True).absolute.error
    assert one[[1, 2, 3]] == pytest.approx(np.sqrt([1 * (1 - 1 / 40) + 2, 2, 2]) / 42)


@settings(max_examples=40)
@given(st.integers(0, 2**31), st.booleans(), st.integers(2, 5), st.integers(1, 4))
def test_invariants(seed, paired, members, groups_count):
    rng = np.random.default_rng(seed)
    before, after = heterogeneous_study(rng, members, 24, paired=paired)
    groups = rng.integers(groups_count, size=24)
    options = {"count": groups_count, "paired": paired}
    changes = group_changes(before, after, groups, **options)
    order, shuffled = rng.permutation(members), rng.permutation(24)
    again = group_changes(
        before[order][:, shuffled], after[order][:, shuffled], groups[shuffled], **options
    )
    swapped = group_changes(after, before, groups, **options)
    for name in ("absolute", "relative"):
        first, second = (dataclasses.asdict(getattr(result, name)) for result in (again, changes))
        for field in first.keys() - {"clusters"}:
            assert_allclose(first[field], second[field], atol=1e-9, rtol=1e-9)
    assert_allclose(swapped.absolute.interval()[0], -changes.absolute.interval()[1], atol=1e-12)
    sizes = np.bincount(groups, minlength=groups_count)
    assert np.nansum(sizes * changes.relative.value) == pytest.approx(0, abs=1e-9)
    assert (np.isnan(changes.absolute.error) == (sizes < 2)).all()
    assert (
        (changes.absolute.p() <= 0.05)
        == np.greater(*map(np.abs, _centre_and_margin(changes.absolute)))
    ).all()
    if groups_count == 1:
        assert_allclose(changes.relative.interval(), 0, atol=1e-12)


def test_nothing_changes_nothing_varies():
    right = np.random.default_rng(0).random((3, 20)) < 0.7
    changes = group_changes(right, right, np.arange(20) % 2, 2, paired=True)
    low, high = changes.absolute.interval()
    assert (low < 0).all()  # ten images that all agree do not prove that no image changes
    assert (high > 0).all()
    assert (changes.absolute.p() == 1).all()
    assert (high < 0.3).all()


def test_a_class_that_every_member_loses_wholly_is_no_certainty():
    before, after = np.ones((2, 40), bool), np.zeros((2, 40), bool)
    change = group_changes(before, after, np.zeros(40, int), 1, paired=True).absolute
    assert 0 < change.p()[0] < 1e-6
    assert -1.1 < change.interval()[0][0] < -1 < change.interval()[1][0] < -0.9


def test_one_model_against_several_has_values_without_errors():
    before, after = np.array([[1.0, 1.0, 0.0]]), np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    groups = np.array([0, 0, 1])
    for of, expected in ((group_changes, [-0.75, 0.5]), (negative_flips, [0.75, 0.0])):
        changes = of(before, after, groups, 2, paired=False)
        assert_allclose(changes.absolute.value, expected)
        assert np.isnan(changes.absolute.interval()).all()
        assert np.isnan(changes.relative.p()).all()


def test_critical_values_are_students_where_one_source_varies():
    quantile = critical_value(0.975, [0.0, 2.0, 0.0], [3.0, 0.0, 0.0], 49, 4)
    assert_allclose(quantile, stats.t.ppf(0.975, [4, 49, 49]))
    few, many = stats.t.ppf(0.975, [4, 49])
    expected = [(share * few + many) / (share + 1) for share in (0.01, 1.0, 100.0)]
    assert_allclose(critical_value(0.975, 1.0, [0.01, 1.0, 100.0], 49, 4), expected)


def test_p_is_the_level_at_which_the_interval_ends_at_zero(rng):
    value, (of_images, of_members) = rng.normal(0, 3, 200), rng.gamma(1, 1, (2, 200))
    error = np.sqrt(of_images + of_members)
    df_images, df_members = rng.uniform(1, 500, 200), rng.uniform(1, 30, 200)
    change = Change(value, error, of_images, of_members, np.zeros(200), df_images, df_members)
    p = change.p()
    for i in range(0, 200, 10):
        low, high = change.interval(1 - p[i])
        assert min(abs(low[i]), abs(high[i])) == pytest.approx(0, abs=1e-6)
    only_images = dataclasses.replace(change, of_members=np.zeros(200), error=np.sqrt(of_images))
    expected = 2 * stats.t.sf(np.abs(value) / only_images.error, df_images)
    assert_allclose(only_images.p(), expected, rtol=1e-6, atol=1e-100)
    assert np.isnan(dataclasses.replace(change, error=np.full(200, np.nan)).p()).all()


def test_two_members_that_happen_to_agree_prove_no_certainty():
    """Satterthwaite's degrees of freedom were those of the images here, and p below 10^-4."""
    rng = np.random.default_rng(3)
    before = rng.random((2, 1000)) < 0.9
    after = before & (rng.random(1000) > 0.02)
    change = group_changes(before, after, np.zeros(1000, int), 1, paired=True).absolute
    assert change.df_members == 1
    assert 0.001 < change.p()[0] < 0.1


@pytest.mark.slow
@pytest.mark.parametrize("paired", [True, False])
@pytest.mark.parametrize(
    ("members", "images", "studies"),
    and_nightly([(30, 50, 100)], [(2, 50, 1000), (5, 50, 1000), (30, 50, 1000), (30, 500, 1000)]),
)
def test_intervals_cover_the_change_on_new_images_with_new_members(
    members, images, studies, paired
):
    """Standard error 2.2 points in 100 studies. Welch's interval, which treats images as fixed, covers less."""
    rng = np.random.default_rng(7)
    truths = [
        np.subtract(
            *[side.mean() for side in heterogeneous_study(rng, 50, 4000, paired=paired)[::-1]]
        )
        for _ in range(30)
    ]
    truth, covered, fixed = np.mean(truths), [], []
    for _ in range(studies):
        before, after = heterogeneous_study(rng, members, images, paired=paired)
        changes = group_changes(before, after, np.zeros(images, int), 1, paired=paired)
        low, high = changes.absolute.interval()
        covered.append(low[0] <= truth <= high[0])
        if (members, images) == (30, 50):
            test = stats.ttest_rel if paired else stats.ttest_ind
            options = {} if paired else {"equal_var": False}
            interval = test(after.mean(1), before.mean(1), **options).confidence_interval()
            fixed.append(interval.low <= truth <= interval.high)
    # two members leave few degrees of freedom: wider; 50 images do not show what all members may lose
    assert 0.92 <= np.mean(covered) <= (0.995 if images > 50 else 1)
    if fixed:
        assert np.mean(fixed) < 0.9


def changes_of(before, after, groups, count, **options):
    """Values, errors and degrees of freedom of both changes."""
    changes = group_changes(before, after, groups, count, **options)
    return [
        values
        for change in (changes.absolute, changes.relative)
        for values in (change.value, change.error, change.df_images)
    ]


@pytest.mark.parametrize("members", [1, 4])
def test_copies_of_an_image_count_as_one(members, rng):
    """Every image five times over: with the copies as clusters, the intervals are those of the images."""
    before, after = heterogeneous_study(rng, members, 90, paired=members > 1)
    groups = np.arange(90) % 3
    options = {"paired": members > 1}
    once = changes_of(before, after, groups, 3, **options)
    copies = [np.repeat(values, 5, -1) for values in (before, after, groups, np.arange(90))]
    for expected, values in zip(
        once, changes_of(*copies[:3], 3, clusters=copies[3], **options), strict=True
    ):
        assert_allclose(values, expected, rtol=1e-9)
    _, error, *_ = changes_of(*copies[:3], 3, **options)
    assert (error < 0.8 * once[1]).all()


def test_errors_over_clusters_are_those_of_statsmodels(rng):
    """Single models: least squares with errors by cluster, of the groups' means and of their excess over all."""
    statsmodels = pytest.importorskip("statsmodels.api")
    writers, classes = 40, 3
    groups = np.tile(np.arange(classes), writers * 4)
    clusters = np.repeat(np.arange(writers), 4 * classes)
    change = rng.integers(-1, 2, (1, len(groups))).astype(float) * (
        rng.random(writers)[clusters] < 0.5
    )
    changes = group_changes(
        np.zeros_like(change), change, groups, classes, paired=True, clusters=clusters
    )
    fit = statsmodels.OLS(change[0], np.eye(classes)[groups]).fit(
        cov_type="cluster", cov_kwds={"groups": clusters, "use_correction": False}
    )
    covariance = fit.cov_params() * writers / (writers - 1)
    excess = np.eye(classes) - 1 / classes
    for one, weights in ((changes.absolute, np.eye(classes)), (changes.relative, excess)):
        expected = np.sqrt(np.diag(weights @ covariance @ weights.T))
        assert_allclose(one.error, expected, rtol=1e-9)
        assert_allclose(one.df_images, writers - 1, atol=20)


@pytest.mark.parametrize("members", [1, 3])
def test_clusters_of_unequal_sizes_have_cr2_and_its_degrees_of_freedom(members, rng):
    """Whole matrices of the images by the definition [IK]; the jackknife is larger and the sandwich smaller."""
    groups = np.repeat([0, 1], [70, 50])
    clusters = rng.choice(9, 120, p=np.arange(1, 10) / 45)
    change = rng.integers(-1, 2, (members, 120)) * (rng.random(9)[clusters] < 0.6)
    found = group_changes(
        np.zeros_like(change), change, groups, 2, paired=True, clusters=clusters
    ).absolute
    for group, values in enumerate(np.split(change.mean(0), [70])):
        own = clusters[groups == group]
        size, residuals = len(own), values - values.mean()
        maker = np.eye(size) - 1 / size
        working = (own[:, None] == own).astype(float)
        variance, weights = 0.0, []
        jackknife, sandwich = 0.0, 0.0
        for cluster in np.unique(own):
            inside = own == cluster
            roots, vectors = np.linalg.eigh(maker[np.ix_(inside, inside)])
            adjusted = vectors / np.sqrt(roots) @ vectors.T @ np.ones(inside.sum()) / size
            variance += (adjusted @ residuals[inside]) ** 2
            weights.append(maker[:, inside] @ adjusted)
            jackknife += (values[~inside].mean() - values.mean()) ** 2
            sandwich += (residuals[inside].sum() / size) ** 2
        eigenvalues = np.linalg.eigvalsh(np.stack(weights) @ working @ np.stack(weights, 1))
        assert found.of_images[group] == pytest.approx(variance)
        assert sandwich < found.of_images[group] < jackknife
        expected = eigenvalues.sum() ** 2 / (eigenvalues**2).sum()
        assert found.df_images[group] == pytest.approx(expected)
        assert found.clusters[group] == pytest.approx(size**2 / np.square(np.bincount(own)).sum())
        assert found.df_images[group] < found.clusters[group] - 1


def test_a_single_cluster_has_no_interval(rng):
    before, after = heterogeneous_study(rng, 2, 40, paired=True)
    options = {"paired": True, "clusters": np.zeros(40, int)}
    assert np.isnan(group_changes(before, after, np.zeros(40, int), 1, **options).absolute.error)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("members", "of_one_class", "studies"),
    and_nightly(
        [(3, True, 40)],
        [(members, one, 300) for members in (1, 3, 10) for one in (True, False)],
    ),
)
def test_intervals_over_clusters_hold_the_truth(members, of_one_class, studies):
    """Nothing changes; images come in clusters of 20. Over single images, as few as 60 % of intervals hold that."""
    truth = clustered(members, of_one_class=of_one_class)
    held = []
    for seed in seeds(studies):
        comparison = Comparison(*simulate(truth, seed, members=members, images=100))
        whole = comparison.changes(np.zeros_like(comparison.baseline.labels), 1)
        low, high = np.concatenate(
            [whole.absolute.interval(), comparison.class_changes().absolute.interval()], axis=1
        )
        held.append((low <= 0) & (high >= 0))
    shares = np.mean(held, axis=0)
    assert shares[0] >= 0.95 - noise(0.95, studies) - 0.01
    assert shares[1:].mean() >= 0.95 - noise(0.95, studies)


@pytest.mark.parametrize(("events", "confidence"), [(0, 0.95), (1, 0.9), (40, 0.99)])
def test_the_interval_of_rare_events_is_that_of_a_poisson_count(events, confidence):
    """Garwood's exact interval, where every event is an image of its own and the images alone vary."""
    images = 1000
    rate, variance = np.array([events / images]), np.array([events / images**2])
    change = mean_change(np.zeros((1, images)), np.zeros((1, images)), paired=True)
    change = dataclasses.replace(change, value=rate, error=np.sqrt(variance))
    low, high = change.rate_interval(confidence)
    tails = stats.norm.sf(stats.t.isf((1 - confidence) / 2, images - 1))
    expected = stats.chi2.ppf(tails, 2 * events) / 2 if events else 0.0
    assert images * low[0] == pytest.approx(expected)
    assert images * high[0] == pytest.approx(stats.chi2.isf(tails, 2 * events + 2) / 2)


def test_the_interval_of_rates_stays_within_its_bounds():
    low, high = (
        Change(*(np.array([part]) for part in parts)).rate_interval()
        for parts in ((0.5, 3.0, 1.0, 8.0, 0.0, 99.0, 1.0), (np.nan,) * 7)
    )
    assert (low[0][0], low[1][0]) == pytest.approx((0, 1))
    assert np.isnan(high).all()


@pytest.mark.parametrize("paired", [True, False])
def test_flips_are_differences_of_all_pairs_and_ties_differ_by_what_they_do_not_share(paired, rng):
    classes = rng.integers(3, size=(4, 500))
    sides = classes[:2], classes[2:]
    before, after = ([BestClasses(row, Ties.none()) for row in side] for side in sides)
    differ = np.array([[one != other for other in sides[1]] for one in sides[0]])
    change = flips(before, after, paired=paired)
    if paired:
        expected = mean_change(0.0 * sides[0], differ[[0, 1], [0, 1]] * 1.0, paired=True)
    else:  # the linear part of each side is its mean over the other
        expected = group_changes(
            -differ.mean(1), differ.mean(0), np.zeros(500, int), 1, paired=False
        ).absolute
        assert change.of_images[0] == pytest.approx(differ.mean((0, 1)).var(ddof=1) / 500)
        expected = dataclasses.replace(change, of_members=expected.of_members)
    assert change.value[0] == pytest.approx(
        differ[[0, 1], [0, 1]].mean() if paired else differ.mean()
    )
    assert_allclose(change.of_members, expected.of_members)
    tie = BestClasses(np.array([0, 0]), Ties(np.array([0, 0]), np.array([0, 1])))
    other = BestClasses(np.array([1, 0]), Ties.none())
    assert flips([tie, tie], [other, tie], paired=paired).value[0] == pytest.approx(0.125)
