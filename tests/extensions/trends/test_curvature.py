"""Curvature of few points, of points that fit exactly, and far from 0."""

import numpy as np
import pytest

from tfaudit.extensions.trends.curvature import curvature


def test_curvature_of_few_or_exact_points():
    assert np.isnan(curvature([0, 1, 2], [0, 1, 4])).all()
    assert np.isnan(curvature([0, 0, 1, 1], [0, 1, 2, 3])).all()
    value, *rest = curvature([0, 1, 2, 3, 4], [0, 2, 8, 18, 32])
    assert value == pytest.approx(2)
    assert np.isnan(rest).all()
    noisy = [0, 2, 9, 18, 32]
    shifted = curvature([1000, 1001, 1002, 1003, 1004], noisy)
    assert shifted == pytest.approx(curvature([0, 1, 2, 3, 4], noisy), rel=1e-6)
