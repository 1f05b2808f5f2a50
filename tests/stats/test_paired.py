"""The paired t-test against SciPy, and its degenerate columns."""

import numpy as np
import pytest
from scipy import stats

from tfaudit.errors import InputError
from tfaudit.stats.t_tests import paired_test


def test_equals_scipy(rng):
    first = rng.normal(size=(7, 20))
    second = first + rng.normal(0.3, 0.5, size=(7, 20))
    reference = stats.ttest_rel(first, second)
    found = paired_test(first, second, confidence=0.9)
    np.testing.assert_allclose(found.p, reference.pvalue, rtol=1e-8)
    np.testing.assert_allclose(found.t, reference.statistic, rtol=1e-8)
    interval = reference.confidence_interval(0.9)
    np.testing.assert_allclose([found.low, found.high], interval, rtol=1e-8)
    np.testing.assert_array_equal(found.df, 6)


def test_constant_differences_and_nan():
    first = np.array([[0.9, 0.5, np.nan], [0.7, 0.6, 0.1]])
    found = paired_test(first, first - [0.2, 0.0, 0.0])  # .9 - .7 and .7 - .5 differ in the last bit
    np.testing.assert_array_equal(found.p, [0, 1, np.nan])
    np.testing.assert_array_equal(found.t, [np.inf, 0, np.nan])
    np.testing.assert_allclose(found.low, [0.2, 0, np.nan])


@pytest.mark.parametrize(
    ("first", "second", "options", "words"),
    [
        ([[1.0]], [[1.0]], {}, "first: got 1, expected 2 pairs or more"),
        ([[1.0], [2.0]], [[1.0]], {}, r"second: \(1, 1\)"),
        ([[1.0], [2.0]], [[1.0], [2.0]], {"confidence": 1}, "confidence: got 1, expected a level"),
    ],
)
def test_bad_input(first, second, options, words):
    with pytest.raises(InputError, match=words):
        paired_test(first, second, **options)
