"""Two proportions against SciPy and statsmodels; tables with empty cells."""

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.contingency_tables import Table2x2

from tests.builders.refusals import assert_refused
from tfaudit.stats.proportions import FISHER, Z, compare_proportions, exact_interval

COUNTS = np.array(
    [[30, 100, 15, 120], [2, 10, 1, 10], [0, 50, 0, 60], [50, 50, 60, 60], [400, 1000, 500, 1000]]
).T


def table(count, total, other_count, other_total):
    return np.array([[count, total - count], [other_count, other_total - other_count]])


def test_z_is_the_root_of_the_chi_square():
    found = compare_proportions(*COUNTS)
    assert found.test.tolist() == [Z, FISHER, FISHER, FISHER, Z]
    for i in (0, 4):
        assert found.p[i] == pytest.approx(
            stats.chi2_contingency(table(*COUNTS[:, i]), correction=False).pvalue
        )


def test_fisher_is_the_hypergeometric_sum():
    found = compare_proportions(*COUNTS, always_exact=True)
    assert set(found.test) == {FISHER}
    for (count, total, other_count, other_total), p in zip(COUNTS.T, found.p, strict=True):
        law = stats.hypergeom(total + other_total, count + other_count, total)
        chances = law.pmf(np.arange(total + 1))
        assert p == pytest.approx(chances[chances <= law.pmf(count) * (1 + 1e-9)].sum())


def test_ratio_is_the_relative_risk():
    found = compare_proportions(*COUNTS)
    for i in (0, 1, 4):
        assert found.ratio[i] == pytest.approx(Table2x2(table(*COUNTS[:, i])).riskratio)
    assert np.isnan(found.ratio[2])
    assert found.ratio[3] == 1


def test_the_exact_interval_of_a_share_is_scipys():
    hits, totals = [0, 3, 12, 1000, 5], [1000, 1000, 100, 1000, 5]
    for confidence in (0.9, 0.95, 0.999):
        ends = [
            stats.binomtest(hit, total).proportion_ci(confidence)
            for hit, total in zip(hits, totals, strict=True)
        ]
        np.testing.assert_allclose(np.transpose(exact_interval(hits, totals, confidence)), ends)
    assert np.isnan(exact_interval([0], [0])).all()
    part = exact_interval(2.5, 10)  # classes tie
    assert exact_interval(2, 10)[0] < part[0] < 0.25 < part[1] < exact_interval(3, 10)[1]


def newcombe(count, total, other_count, other_total):
    (low1, high1), (low2, high2) = (
        stats.binomtest(a, n).proportion_ci(method="wilson")
        for a, n in ((count, total), (other_count, other_total))
    )
    p1, p2 = count / total, other_count / other_total
    difference = p1 - p2
    return difference - np.hypot(p1 - low1, high2 - p2), difference + np.hypot(
        high1 - p1, p2 - low2
    )


def test_interval_is_newcombes():
    found = compare_proportions(*COUNTS)
    ends = np.array([newcombe(*map(int, column)) for column in COUNTS.T])
    np.testing.assert_allclose(np.stack([found.low, found.high], 1), ends, atol=1e-12)


def test_an_empty_sample_gives_nothing():
    found = compare_proportions([0], [0], [3], [9])
    assert np.isnan([found.first, found.ratio, found.low, found.high, found.p]).all()
    assert found.test.tolist() == [""]
    assert compare_proportions(*np.zeros((4, 0), int)).p.shape == (0,)


@pytest.mark.parametrize(
    ("counts", "options", "message"),
    [
        (([3], [2], [0], [1]), {}, "hits: got 3 of 2, expected at most all"),
        (([1], [2], [4], [1]), {}, "other_hits: got 4 of 1"),
        (([0.5], [2], [0], [1]), {}, "hits: got float64 from 0.5, expected integers >= 0"),
        (([1], [2, 3], [0], [1]), {}, r"totals: got shape \(2,\)"),
    ],
)
def test_bad_input(counts, options, message):
    assert_refused(message, compare_proportions, *counts, **options)
