"""The split of the variance of a crossed design, against known sources and statsmodels' analysis of variance."""

import numpy as np
import pandas as pd
import pytest
from statsmodels.formula.api import ols
from statsmodels.stats.anova import anova_lm

from tests.builders.refusals import assert_refused
from tfaudit.stats import variance_sources

FACTORS = ["start", "order", "mask"]


def outcomes(rng, levels, images, deviations, classes=1):
    """Draw outcomes of which each factor, the images, and each cell's images have their own deviation."""
    made = []
    for _ in range(classes):
        total = np.zeros((*levels, images))
        for axis, count in enumerate((*levels, images)):
            shape = [1] * total.ndim
            shape[axis] = count
            total = total + deviations[axis] * rng.normal(size=shape)
        made.append(total + deviations[-1] * rng.normal(size=total.shape))
    return made


def test_parts_are_unbiased_and_their_errors_cover():
    rng = np.random.default_rng(0)
    levels, images, deviations = (6, 6, 3), 40, (1, 0.5, 0, 3, 2)
    splits = [
        variance_sources(outcomes(rng, levels, images, deviations, classes=10), FACTORS)
        for _ in range(60)
    ]
    truth = np.array([1, 0.25, 0, 9 / 40, 4 / 40])
    variances = np.array([split["variance"] for split in splits])
    error = variances.std(0) / np.sqrt(len(splits))
    assert np.all(np.abs(variances.mean(0) - truth) < 3.5 * error)
    shares, errors = (np.array([split[name] for split in splits]) for name in ("share", "error"))
    covered = np.abs(shares - truth / truth.sum()) <= 1.96 * errors
    assert covered.mean(0)[[0, 1]].min() > 0.85


def test_variances_are_those_of_the_analysis_of_variance():
    (made,) = outcomes(np.random.default_rng(1), (5, 4, 3), 1, (1, 0.7, 0.4, 0, 0.5))
    split = variance_sources([np.repeat(made, 20, axis=-1)], FACTORS)
    rows = np.indices(made.shape).reshape(4, -1)
    frame = pd.DataFrame(dict(zip(FACTORS, rows, strict=False)) | {"value": made.ravel()})
    table = anova_lm(ols("value ~ (C(start) + C(order) + C(mask)) ** 2", frame).fit())
    squares = table["sum_sq"] / table["df"]
    for name, levels in zip(FACTORS, (5, 4, 3), strict=True):
        two = [square for term, square in squares.items() if f"C({name})" in term and ":" in term]
        expected = (squares[f"C({name})"] - sum(two) + squares["Residual"]) / (60 / levels)
        assert split.loc[name, "variance"] == pytest.approx(expected)
    assert split.loc["images", "variance"] == pytest.approx(0, abs=1e-12)


def test_wrong_designs_are_refused():
    assert_refused(
        "^outcomes: got .* expected three levels",
        variance_sources,
        [np.zeros((2, 3, 4))],
        FACTORS[:2],
    )
    assert_refused(
        "^outcomes: got .* expected three levels", variance_sources, [np.zeros((3, 3, 40))], FACTORS
    )
    assert_refused(
        "^outcomes: got .* expected three levels",
        variance_sources,
        [np.zeros((3, 3, 4))],
        FACTORS[:2],
    )
