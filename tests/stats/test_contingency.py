"""McNemar's test, Tango's interval and Cohen's kappa against other implementations and published tables."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import optimize, stats
from statsmodels.stats.contingency_tables import mcnemar as statsmodels_mcnemar
from statsmodels.stats.inter_rater import cohens_kappa

from tests.builders.exact_tails import any_fails, tails
from tfaudit.errors import InputError
from tfaudit.stats.contingency import (
    chance_agreement,
    mcnemar,
    mcnemar_false_alarms,
    paired_difference_p,
    paired_interval,
)

counts = st.integers(0, 40)


@given(counts, counts)
def test_mcnemar_is_statsmodels_exact_test_and_scipys_binomial_test(lost, won):
    p = float(mcnemar([lost], [won])[0])
    assert p == pytest.approx(statsmodels_mcnemar([[5, lost], [won, 7]], exact=True).pvalue)
    if lost + won:
        assert p == pytest.approx(stats.binomtest(lost, lost + won).pvalue)


def test_mcnemar_without_a_change_is_1_and_keeps_the_shape():
    assert_array_equal(mcnemar([[0, 3]], [[0, 3]]), [[1.0, 1.0]])
    assert mcnemar(np.array([], int), np.array([], int)).shape == (0,)


@pytest.mark.parametrize(
    ("lost", "won", "pairs", "confidence", "ends", "digits"),
    [
        (
            3,
            9,
            32,
            0.95,
            (-0.027, 0.390),
            3,
        ),  # Tango 1998, cells 4, 9, 3, 16 (also tested so by R: ratesci)
        (1, 0, 44, 0.90, (-0.096, 0.037), 3),  # Tango 1998, cells 43, 0, 1, 0
        (
            7,
            1,
            21,
            0.95,
            (-0.517, 0),
            3,
        ),  # Fagerland, Lydersen and Laake 2014: -.026, and the exact test's p = .07
        (25, 28, 618, 0.90, (-0.0148, 0.0247), 4),  # R: PropCIs::scoreci.mp(25, 28, 618, 0.9)
    ],
)
def test_the_interval_is_the_published_one(lost, won, pairs, confidence, ends, digits):
    low, high = paired_interval([lost], [won], [pairs], confidence=confidence)
    assert (round(low[0], digits), round(high[0], digits)) == ends


def by_likelihood(difference, lost, won, pairs):
    """The score statistic with its nuisance found by maximising the likelihood of the three cells numerically."""

    def minus_log(q):
        cells = np.array([q, q + difference, 1 - 2 * q - difference])
        return -np.sum(
            [
                n * np.log(max(c, 1e-300))
                for n, c in zip((lost, won, pairs - lost - won), cells, strict=True)
            ]
        )

    bounds = (max(0.0, -difference), (1 - difference) / 2)
    q = optimize.minimize_scalar(
        minus_log, bounds=bounds, method="bounded", options={"xatol": 1e-12}
    ).x
    return (won - lost - pairs * difference) / np.sqrt(
        pairs * (2 * q + difference * (1 - difference))
    )


@pytest.mark.parametrize(
    ("lost", "won", "pairs"), [(3, 9, 32), (17, 5, 1000), (1, 1, 10), (20, 60, 100)]
)
def test_its_ends_are_where_the_likelihoods_score_test_begins_to_reject(lost, won, pairs):
    z = stats.norm.ppf(0.975)
    low, high = paired_interval([lost], [won], [pairs])
    assert by_likelihood(low[0], lost, won, pairs) == pytest.approx(z, abs=1e-3)
    assert by_likelihood(high[0], lost, won, pairs) == pytest.approx(-z, abs=1e-3)


@given(counts, counts, st.integers(1, 200))
def test_exchanging_the_models_mirrors_it_and_it_stays_in_range_around_the_difference(
    lost, won, others
):
    pairs = lost + won + others
    low, high = paired_interval([lost, won], [won, lost], [pairs, pairs])
    assert_allclose(low, -high[::-1], atol=1e-12)
    assert -1 <= low[0] < (won - lost) / pairs < high[0] <= 1


@given(
    counts,
    counts,
    st.integers(0, 200),
    st.floats(-1.5, 1.5),
    st.sampled_from([0.5, 0.9, 0.95, 0.999]),
)
def test_one_test_tells_whether_it_leaves_a_difference_out(lost, won, others, anywhere, confidence):
    table = [lost], [won], [lost + won + others]
    low, high = (float(end[0]) for end in paired_interval(*table, confidence=confidence))
    for difference in (anywhere, 0.0, low - 1e-9, low + 1e-9, high - 1e-9, high + 1e-9):
        (p,) = paired_difference_p(*table, difference)
        assert (p <= 1 - confidence) == (difference < low or difference > high)


@pytest.mark.parametrize("others", [0, 1, 20, 1000])
@pytest.mark.parametrize("alpha", [0.1, 0.05, 0.01])
def test_it_excludes_0_just_where_the_exact_test_rejects(alpha, others):
    """All tables of up to 60 losses and 60 gains; Tango's interval alone contradicts the test in about 90 of them."""
    lost, won = np.mgrid[:61, :61].reshape(2, -1)
    low, high = paired_interval(lost, won, np.maximum(lost + won + others, 1), confidence=1 - alpha)
    assert_array_equal((low > 0) | (high < 0), mcnemar(lost, won) <= alpha)


@given(counts, counts, st.integers(1, 200))
def test_it_is_never_narrower_than_where_mcnemars_asymptotic_test_rejects(lost, won, others):
    low, high = paired_interval([lost], [won], [lost + won + others])
    p = (
        statsmodels_mcnemar([[others, lost], [won, 0]], exact=False, correction=False).pvalue
        if lost + won
        else 1.0
    )
    assert (low[0] <= 0 <= high[0]) or p < 0.05


@given(counts, counts)
def test_mid_p_counts_equally_likely_outcomes_half(lost, won):
    """By definition, over all outcomes: those of a smaller probability, and half of those of the same."""
    n = lost + won
    likely = stats.binom.pmf(np.arange(n + 1), n, 0.5)
    own = likely[lost]
    p = (
        likely[likely < own * (1 - 1e-9)].sum()
        + 0.5 * likely[np.isclose(likely, own, rtol=1e-9, atol=0)].sum()
    )
    assert float(mcnemar([lost], [won], mid=True)[0]) == pytest.approx(p if n else 1.0)


def test_published_mid_p_and_exact_p():
    """Fagerland, Lydersen and Laake 2013: 1 and 7 pairs changed; exact .0703, mid-p .0391."""
    assert mcnemar([1], [7])[0].round(4) == 0.0703
    assert mcnemar([1], [7], mid=True)[0].round(4) == 0.0391


@pytest.mark.parametrize("alpha", [0.1, 0.0625, 0.05, 0.01])
def test_false_alarms_are_counted_over_all_outcomes(alpha):
    expected = []
    for n in range(80):
        lost = np.arange(n + 1)
        rejected = mcnemar(lost, n - lost) <= alpha
        expected.append(stats.binom.pmf(lost, n, 0.5)[rejected].sum())
    found = mcnemar_false_alarms(np.arange(80), alpha)
    assert_allclose(found, expected, atol=1e-15)
    assert found.max() <= alpha


def test_it_covers_the_truth_as_often_as_it_says(rng):
    cells = rng.multinomial(60, [0.7, 0.15, 0.05, 0.1], size=20_000)
    low, high = paired_interval(cells[:, 1], cells[:, 2], cells.sum(1))
    assert np.mean((low <= -0.1) & (high >= -0.1)) == pytest.approx(0.95, abs=0.01)


@pytest.mark.parametrize("won", [0.0, 0.01, 0.1])
@pytest.mark.parametrize("loss", [0.04, 0.1])
@pytest.mark.parametrize(("classes", "images"), [(10, 200), (100, 500), (1000, 500), (1000, 50)])
def test_no_class_of_many_fails_at_its_limit_more_often_than_by_its_level(
    classes, images, loss, won
):
    """All classes lose exactly the limit. Tango's interval at these levels fails one in up to 14 % of studies."""
    assert any_fails(classes, images, loss, won) <= 0.025


def test_far_tails_below_the_loss_keep_their_level_too():
    for images, loss, won in ((50, 0.1, 0.03), (200, 0.05, 0.003), (1000, 0.05, 0.03)):
        assert max(tails(images, loss, won, 0.995)) <= 0.0025


def test_the_interval_where_all_none_or_nobody_changed():
    low, high = paired_interval([5, 0, 0, 0], [0, 5, 0, 0], [5, 5, 5, 0])
    z2 = stats.norm.ppf(0.975) ** 2
    assert_allclose(
        low[[0, 2]], [-1, -z2 / (5 + z2)]
    )  # no change: the score interval in closed form
    assert_allclose(high[[1, 2]], [1, z2 / (5 + z2)])
    assert np.isnan(low[3])
    assert np.isnan(high[3])


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=2, max_size=60))
def test_agreement_by_chance_has_the_error_of_statsmodels_kappa(pairs):
    first, second = np.array(pairs).T
    table = np.zeros((4, 4))
    np.add.at(table, (first, second), 1)
    shares = (np.bincount(classes, minlength=4) / len(pairs) for classes in (first, second))
    expected, error = chance_agreement(*shares, len(pairs))
    assert expected == pytest.approx((table.sum(0) @ table.sum(1)) / len(pairs) ** 2)
    if len(set(first)) > 1 and len(set(second)) > 1:
        with np.errstate(invalid="ignore"):
            reference = cohens_kappa(table)
        assert error == pytest.approx(reference.var_kappa0**0.5 * (1 - expected), abs=1e-9)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: mcnemar([np.nan], [1]), "lost: got float64 from nan, expected numbers >= 0"),
        (lambda: mcnemar([1], [-1]), "won: got int64 from -1, expected numbers >= 0"),
        (lambda: mcnemar(["a"], ["b"]), "lost: got values of <U1, expected numbers >= 0"),
        (
            lambda: paired_difference_p([1], [1], [3], ["a"]),
            "difference: got values of <U1, expected numbers",
        ),
        (
            lambda: mcnemar([1, 2], [1]),
            r"won: got shape \(1,\), expected \(2,\), the shape of lost",
        ),
        (lambda: paired_interval([2], [2], [3]), "pairs: got fewer pairs than changes"),
    ],
)
def test_bad_input_is_one_clear_line(call, words):
    with pytest.raises(InputError, match=words) as refused:
        call()
    assert "\n" not in str(refused.value)
