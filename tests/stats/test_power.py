"""Power by enumeration, simulation and statsmodels; what is found is found, what is smaller is not."""

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar as reference_mcnemar
from statsmodels.stats.power import TTestIndPower

from tfaudit.errors import InputError
from tfaudit.stats.power import detectable_drop, detectable_shift, examples_needed, mcnemar_power


@pytest.mark.parametrize(
    ("n", "drop", "gains", "alpha"), [(12, 0.5, 0.1, 0.05), (25, 0.3, 0.0, 0.01), (18, 0, 0.2, 0.3)]
)
def test_power_is_the_sum_over_all_tables(n, drop, gains, alpha):
    total = 0.0
    for lost in range(n + 1):
        for won in range(min(lost, n - lost + 1)):
            p = reference_mcnemar([[0, lost], [won, 0]], exact=True).pvalue
            chance = stats.multinomial.pmf([lost, won, n - lost - won], n, [gains + drop, gains, 1 - 2 * gains - drop])
            total += chance * (p <= alpha)
    assert mcnemar_power(n, drop, gains, alpha=alpha) == pytest.approx(total, abs=1e-9)


def test_power_equals_simulation(rng):
    lost, won, _ = rng.multinomial(400, [0.06, 0.03, 0.91], 4000).T
    p = np.array([stats.binomtest(int(a), int(a + b)).pvalue if a + b else 1.0 for a, b in zip(lost, won, strict=True)])
    simulated = np.mean((p <= 0.05) & (lost > won))
    assert mcnemar_power(400, drop=0.03, gains=0.03) == pytest.approx(simulated, abs=3 * np.sqrt(0.25 / 4000))


def test_large_samples_follow_the_normal_approximation():
    """Connor 1987: n = (z_a sqrt(psi) + z_b sqrt(psi - d^2))^2 / d^2 with psi the share of pairs that change."""
    drop, gains = 0.01, 0.05
    moved = 2 * gains + drop
    z_alpha, z_beta = stats.norm.ppf([0.975, 0.8])
    expected = (z_alpha * np.sqrt(moved) + z_beta * np.sqrt(moved - drop**2)) ** 2 / drop**2
    assert examples_needed(drop, gains) == pytest.approx(expected, rel=0.03)  # exact costs a little


def test_detectable_and_needed_are_inverse():
    (drop,) = detectable_drop([1000], [20])
    assert mcnemar_power(1000, drop, 0.02) == pytest.approx(0.8, abs=1e-3)
    assert examples_needed(drop, 0.02) == pytest.approx(1000, rel=0.02)


def test_more_examples_or_fewer_gains_find_smaller_drops():
    assert np.all(np.diff(detectable_drop([50, 200, 1000, 5000], [0, 0, 0, 0])) < 0)
    assert np.all(np.diff(detectable_drop([500] * 4, [0, 5, 25, 100])) > 0)
    assert np.all(np.diff([detectable_drop([500], [5], alpha=a)[0] for a in (0.1, 0.01, 0.001)]) > 0)


def test_where_nothing_can_be_found():
    """Five losses give p = 1/16 at best; six of six 1/32."""
    found = detectable_drop([0, 1, 5, 6, 10], [0, 0, 0, 0, 5])
    np.testing.assert_array_equal(np.isnan(found), [True, True, True, False, True])
    assert found[3] == pytest.approx(0.8 ** (1 / 6), abs=1e-4)
    assert mcnemar_power(0, 0.5, 0) == mcnemar_power(100, 0, 0) == 0
    assert detectable_drop([], []).shape == (0,)


@pytest.mark.parametrize("members", [2, 4, 30])
@pytest.mark.parametrize("alpha", [0.05, 0.001])
def test_shift_has_the_power_that_statsmodels_and_scipy_give(members, alpha):
    shift = float(detectable_shift(np.sqrt(2 / members), 2 * members - 2, alpha=alpha))
    assert TTestIndPower().power(shift, members, alpha) == pytest.approx(0.8, abs=1e-4)
    shift = float(detectable_shift(2.5, members - 1, alpha=alpha, power=0.6))
    critical = stats.t.ppf(1 - alpha / 2, members - 1)
    assert stats.nct.sf(critical, members - 1, shift / 2.5) == pytest.approx(0.6, abs=1e-3)


def test_shift_of_no_error_and_of_nothing():
    np.testing.assert_array_equal(detectable_shift([0.0, np.nan, 1.0], [np.nan, 5, np.nan]), [0, np.nan, np.nan])
    assert float(detectable_shift(1, np.inf)) == pytest.approx(stats.norm.ppf([0.975, 0.8]).sum())


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: mcnemar_power(10, 0.5, 0.3), r"drop, gains: got \(0.5, 0.3\)"),
        (lambda: mcnemar_power(-1, 0.5, 0.1), "examples: got -1"),
        (lambda: mcnemar_power(10, 0.5, 0.1, alpha=0), "alpha: got 0, expected a level"),
        (lambda: detectable_drop([5], [6]), r"gained: got \[6\], expected counts from 0 to examples"),
        (lambda: detectable_drop([5, 5], [0]), r"gained: got \(1,\), expected the shape \(2,\)"),
        (lambda: detectable_drop([5], [0], power=1), "power: got 1"),
        (lambda: examples_needed(0, 0.1), "drop: got 0, expected a share above 0"),
        (lambda: detectable_shift(1, 5, power=2), "power: got 2"),
    ],
)
def test_bad_input(call, words):
    with pytest.raises(InputError, match=words):
        call()
