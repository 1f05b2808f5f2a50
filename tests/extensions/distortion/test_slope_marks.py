"""Marks of mean slopes against SciPy."""

import numpy as np
import pytest
from scipy import stats

from tests.builders.refusals import assert_refused
from tfaudit.extensions.distortion.slope_marks import mark_slopes


@pytest.mark.parametrize(("centre", "mark"), [(0.9, "<"), (1.0, "?"), (1.1, ">")])
def test_interval_equals_scipy_at_99_percent_for_five_levels(rng, centre, mark):
    slopes = centre + 0.05 * rng.normal(size=30)
    found = mark_slopes(slopes, levels=5)
    assert found.confidence == pytest.approx(0.99)
    low, high = stats.t.interval(0.99, 29, loc=slopes.mean(), scale=stats.sem(slopes))
    assert (found.mean, found.low, found.high) == pytest.approx((slopes.mean(), low, high))
    assert found.mark == mark == ("<" if high < 1 else ">" if low > 1 else "?")


def test_more_levels_need_more_evidence():
    slopes = [1.2, 1.25, 1.3]
    assert [mark_slopes(slopes, levels=levels).mark for levels in (1, 100)] == [">", "?"]


@pytest.mark.parametrize(
    "slopes", [[1.5], [1.5, np.nan, 1.6], [1.0, 1.0, 1.0]], ids=["single", "undefined", "equal"]
)
def test_no_evidence(slopes):
    assert mark_slopes(slopes).mark == "?"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"levels": 0}, "levels: got 0, expected 1 or more"),
        ({"alpha": 1.0}, r"alpha: got 1.0, expected a level in \(0, 1\)"),
    ],
)
def test_bad_input(options, message):
    assert_refused(message, mark_slopes, [1.0, 1.1], **options)
