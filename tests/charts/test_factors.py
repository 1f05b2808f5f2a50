"""The charts of a regression show its frame, for hundreds of rows and for tens of thousands."""

import numpy as np
import pandas as pd
import pytest

from tests.builders.drawings import rows_of, texts
from tfaudit.audits.factors.regression import factors, factors_glm


def table(n):
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(
        {
            "sparsity": rng.random(n),
            "imbalance": rng.normal(0, 0.03, n),
            "class_entropy": rng.random(n),
        }
    )
    rows["accuracy"] = 0.7 - 0.2 * rows["sparsity"] + rows["imbalance"] + rng.normal(0, 0.03, n)
    return rows.assign(examples=100, correct=(100 * rows["accuracy"]).round().clip(1, 99))


@pytest.mark.slow
def test_each_hypothesis_has_its_own_scale():
    found = factors(table(300))
    shown = texts(found.chart())
    assert {
        "share of the training set",
        "entropy of the images",
        "sparsity",
        "exp(sparsity)",
    } <= set(shown)
    assert "Intercept" not in shown
    assert {
        "points of accuracy per point of training share",
        "points of accuracy per bit of entropy",
    } <= set(shown)
    assert "log-odds per bit of entropy" in texts(factors_glm(table(300)).chart())


def test_estimates_are_drawn_in_the_unit_of_the_axis():
    found = factors(table(300))
    rows = rows_of(found.chart()).set_index("term")
    estimates = found.frame().set_index("term")["estimate"]
    steps = {"imbalance": 1, "class_entropy": 100, "sparsity": 100}  # per point, per bit, per unit
    for term, step in steps.items():
        assert rows.loc[term, "estimate"] == pytest.approx(step * estimates[term])
    assert rows.loc["imbalance", "evidence"] == "interval without 0"


def test_without_hypotheses_the_other_terms_are_drawn():
    found = factors(table(300)[["sparsity", "accuracy"]])
    assert len(found.chart().to_dict()["vconcat"]) == 1
    only = factors(table(300)[["imbalance", "accuracy"]])
    assert len(only.chart().to_dict()["vconcat"]) == 1


@pytest.mark.parametrize(("n", "mark"), [(300, "circle"), (5000, "rect")])
def test_diagnostics_count_every_row(n, mark):
    found = factors(table(n))
    chart = found.diagnostics_chart()
    cloud, histogram, spread = chart.to_dict()["vconcat"]
    by_target = pd.DataFrame(chart.to_dict()["datasets"][spread["data"]["name"]])
    assert by_target["rows"].sum() == n
    assert (by_target["low"] <= by_target["median"]).all()
    assert cloud["layer"][0]["mark"]["type"] == mark
    data = chart.to_dict()["datasets"]
    assert sum(row["count"] for row in data[histogram["data"]["name"]]) == n
    if mark == "rect":
        cells = pd.DataFrame(data[cloud["layer"][0]["data"]["name"]])
        np.testing.assert_allclose(cells.groupby("observed")["share"].sum(), 1)
    assert "observed minus fitted, points" in texts(chart)
