"""The charts of the regressions: units, and every row."""

import numpy as np
import pandas as pd
import pytest

from tests.builders.drawings import rows_of
from tfaudit.extensions.factors.regression import factors


@pytest.mark.parametrize(("n", "mark"), [(300, "circle"), (5000, "rect")])
def test_estimates_have_the_unit_of_their_axis_and_residuals_count_every_row(n, mark):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.random((n, 2)), columns=["sparsity", "class_entropy"])
    table["imbalance"] = rng.normal(0, 0.03, n)
    noise = rng.normal(0, 0.03, n)
    found = factors(table.assign(accuracy=0.7 - 0.2 * table["sparsity"] + noise))
    rows = rows_of(found.chart()).set_index("term")
    estimates = found.frame().set_index("term")["estimate"]
    steps = {"imbalance": 1, "class_entropy": 100, "sparsity": 100}  # per point, per bit, per unit
    for term, step in steps.items():
        assert rows.loc[term, "estimate"] == pytest.approx(step * estimates[term])
    chart = found.diagnostics_chart().to_dict()
    cloud, histogram, spread = chart["vconcat"]
    by_target, counts = (
        pd.DataFrame(chart["datasets"][panel["data"]["name"]]) for panel in (spread, histogram)
    )
    assert by_target["rows"].sum() == counts["count"].sum() == n
    assert (by_target["low"] <= by_target["median"]).all()
    assert cloud["layer"][0]["mark"]["type"] == mark
