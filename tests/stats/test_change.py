"""Relative changes as [F] prints them, from its own columns."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tfaudit.stats.change import relative_change

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
