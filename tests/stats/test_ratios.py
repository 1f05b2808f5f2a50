"""Relative changes as [F] prints them, from its own columns, and balances as [R] has them."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from tfaudit.stats.ratios import normalised_balance, relative_change

PUBLISHED = Path(__file__).parent / "published"


def recomputed(table, metric, by):
    """What the printed figures give, what is printed, and how far rounding to two digits can part the two."""
    dense = table[table["sparsity"] == 0].set_index(by)[metric]
    rows = table[table["sparsity"] > 0]
    before, after = rows[by].map(dense).to_numpy(), rows[metric].to_numpy()
    rounding = 100 * 0.005 * (1 / before + after / before**2) + 0.006
    return 100 * relative_change(before, after), rows[f"{metric}_norm"].to_numpy(), rounding


@pytest.mark.parametrize("metric", ["top1", "top5"])
def test_table_3_follows_from_its_own_columns(metric):
    table = pd.read_csv(PUBLISHED / "forget_table_3.csv", comment="#")
    ours, printed, rounding = recomputed(table, metric, "corruption")
    assert len(ours) == 24
    assert (np.abs(ours - printed) <= rounding).all()


@pytest.mark.parametrize("metric", ["top1", "top5"])
def test_table_8_follows_from_its_own_columns(metric):
    table = pd.read_csv(PUBLISHED / "forget_table_8.csv", comment="#").assign(data="imagenet_a")
    ours, printed, rounding = recomputed(table, metric, "data")
    assert len(ours) == 5
    assert (np.abs(ours - printed) <= rounding).all()


def test_worked_figures():
    ours = 100 * relative_change([69.49, 42.23, 0.89], [64.12, 25.29, 0.36])
    np.testing.assert_allclose(ours, [-7.73, -40.11, -59.55], atol=0.005)


def test_nothing_before_has_no_relative_change():
    assert np.isnan(relative_change(0.0, 0.5))
    assert relative_change(0.5, 0.5) == 0


@pytest.mark.parametrize(
    ("recall", "accuracy", "after", "ratio"),
    [(0.903, 0.9026, -0.0285, -64), (0.903, 0.9033, -0.0099, 30)],
)
def test_the_papers_outliers(recall, accuracy, after, ratio):
    """[R] G: two ratios whose denominators are close to 0."""
    assert after / normalised_balance([recall], accuracy)[0] == pytest.approx(ratio, abs=0.5)


@settings(max_examples=50)
@given(arrays.arrays(int, (4, 7), elements=st.integers(0, 20)))
def test_balances_of_a_balanced_test_set_sum_to_zero(hits):
    """[R] proposition 4.1 and corollary 4.1.1: 7 classes of 20 examples."""
    balance = normalised_balance(hits / 20, hits.sum(1) / 140)
    np.testing.assert_allclose(balance[hits.sum(1) > 0].sum(1), 0, atol=1e-9)
    assert np.isnan(balance[hits.sum(1) == 0]).all()


def test_rounding_is_not_a_balance():
    """3 of 10, 6 of 20 and 9 of 30 are one recall, though 0.1 * 3 is not 0.3."""
    assert (normalised_balance([0.1 * 3, 0.3, 0.3], 0.3) == 0).all()
