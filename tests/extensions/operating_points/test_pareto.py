"""The Pareto set against brute force over all pairs, and what defines it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tests.builders.refusals import assert_refused
from tfaudit.extensions.operating_points.pareto import pareto_set

POINTS = hnp.arrays(
    np.float64,
    st.tuples(st.integers(0, 25), st.integers(1, 4)),
    elements=st.integers(-3, 3).map(float),
)  # few values: many ties


def dominates(a, b):
    return all(x >= y for x, y in zip(a, b, strict=True)) and any(
        x > y for x, y in zip(a, b, strict=True)
    )


def brute_force(values):
    return [not any(dominates(other, point) for other in values) for point in values]


@given(POINTS)
def test_equals_brute_force(values):
    assert pareto_set(values).tolist() == brute_force(values)


def test_extremes():
    circle = np.linspace(0, np.pi / 2, 3000)
    assert pareto_set(np.stack([np.cos(circle), np.sin(circle)], 1)).all()
    assert pareto_set(np.ones((3000, 2))).all()  # equal points do not dominate each other
    assert pareto_set(np.arange(3000.0)[:, None]).sum() == 1
    assert pareto_set(np.empty((0, 2))).shape == (0,)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1.0, 2.0], r"values: got shape \(2,\)"),
        (np.empty((3, 0)), r"values: got shape \(3, 0\)"),
        ([[1.0, np.nan]], "values: got NaN"),
        ([[np.inf, 1.0]], "values: got NaN or infinity"),
    ],
)
def test_bad_input(values, message):
    assert_refused(message, pareto_set, values)
