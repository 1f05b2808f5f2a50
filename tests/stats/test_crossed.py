"""The split of the variance of a crossed design, against known sources and statsmodels' analysis of variance."""

import numpy as np
import pandas as pd
import pytest
from statsmodels.formula.api import ols
from statsmodels.stats.anova import anova_lm

from benchmarks.crossed import variance_sources
from tests.builders.refusals import assert_refused

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
    own = 4 / 40  # of each cell's images
    alone, again = np.array([1, 0.25, 0, 9 / 40]), np.array([1, 0.25, 0, 9 / 40]) + own
    total = alone.sum() + own
    for name, truth in (("alone", alone), ("again", again)):
        shares, errors = (np.array([split[n] for split in splits]) for n in (name, f"{name}_error"))
        variances = shares * np.array(
            [split["again_variance"] / split["again"] for split in splits]
        )
        error = variances.std(0) / np.sqrt(len(splits))
        assert np.all(np.abs(variances.mean(0) - truth) < 3.5 * error)
        covered = np.abs(shares - truth / total) <= 1.96 * errors
        assert covered.mean(0)[[0, 1]].min() > 0.85


def test_what_only_two_factors_explain_together_is_no_part_of_either_alone():
    cells = np.random.default_rng(2).normal(
        size=(8, 8, 3, 1)
    )  # as trainings that chance drives apart
    cells = cells[:, :, :1] + np.zeros((8, 8, 3, 20))
    split = variance_sources([cells] * 3, FACTORS)
    assert np.abs(split["alone"]).max() < 0.15
    np.testing.assert_allclose(split["again"], [1, 1, 0, 0], atol=0.15)


def test_parts_are_those_of_the_analysis_of_variance():
    (made,) = outcomes(np.random.default_rng(1), (5, 4, 3), 1, (1, 0.7, 0.4, 0, 0.5))
    split = variance_sources([np.repeat(made, 20, axis=-1)], FACTORS)
    rows = np.indices(made.shape).reshape(4, -1)
    frame = pd.DataFrame(dict(zip(FACTORS, rows, strict=False)) | {"value": made.ravel()})
    table = anova_lm(ols("value ~ (C(start) + C(order) + C(mask)) ** 2", frame).fit())
    squares = table["sum_sq"] / table["df"]
    total = split["again_variance"] / split["again"]
    for name, levels in zip(FACTORS, (5, 4, 3), strict=True):
        two = [square for term, square in squares.items() if f"C({name})" in term and ":" in term]
        expected = (squares[f"C({name})"] - sum(two) + squares["Residual"]) / (60 / levels)
        assert split.loc[name, "alone"] * total[name] == pytest.approx(expected)
        axis = FACTORS.index(name)
        again = made.var(axis, ddof=1).mean()  # of this factor, all else fixed
        assert split.loc[name, "again_variance"] == pytest.approx(again)


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
