"""Changes over images and members: against a bootstrap of both, against formulas, and for their coverage."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import stats

from tests.builders.heterogeneous import heterogeneous_study
from tests.builders.nightly import and_nightly, noise
from tfaudit.stats.changes import group_changes, log_ratio, total_change
from tfaudit.stats.flips import negative_flips


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
    """The ratio is one of errors, which are rare; the bootstrap draws its numerator and denominator together."""
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
