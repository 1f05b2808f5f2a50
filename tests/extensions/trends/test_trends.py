"""Lines of accuracy on a property against statsmodels and pandas; a planted effect; degenerate columns."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf

from tests.builders.drawings import rows_of
from tests.builders.populations import population
from tfaudit.errors import InputError
from tfaudit.extensions.trends.trends import trends
from tfaudit.predictions import Predictions

BEFORE, AFTER = population(1), population(2, hurt=[3])
RNG = np.random.default_rng(0)
VALUES, WRITERS = RNG.random(200), RNG.integers(0, 20, 200)
SERIES = np.where(WRITERS < 6, "employee", "student")


def right(predictions):
    return (predictions.ranked[:, :, 0] == predictions.labels).mean(0)


def test_lines_equal_statsmodels():
    frame = trends(BEFORE, AFTER, VALUES, column=SERIES).frame()
    data = pd.DataFrame(
        {"x": VALUES, "group": SERIES, "before": right(BEFORE), "after": right(AFTER)}
    )
    data["change"] = data["after"] - data["before"]
    for row in frame.to_dict("records"):
        inside = data[(data["group"] == row["group"]) | (row["group"] == "full")]
        fit = smf.ols(f"{row['measure']} ~ x", inside).fit()
        bend = smf.ols(f"{row['measure']} ~ x + I(x**2)", inside).fit()
        expected = {"intercept": fit.params.iloc[0]}
        for name, prefix, model in (("slope", "", fit), ("curvature", "curvature_", bend)):
            low, high = model.conf_int().iloc[-1]
            expected |= {name: model.params.iloc[-1], f"{prefix}p": model.pvalues.iloc[-1]}
            expected |= {f"{name}_low": low, f"{name}_high": high}
        assert {name: row[name] for name in expected} == pytest.approx(expected)
    counts = [(SERIES == "employee").sum()] * 3 + [(SERIES == "student").sum()] * 3
    assert frame["units"].tolist() == [*counts, 200, 200, 200]


def test_bins_equal_pandas():
    bins = trends(BEFORE, AFTER, VALUES, bins=4).binned.query("measure == 'before'")
    by = pd.DataFrame({"value": VALUES, "y": right(BEFORE)}).groupby(
        pd.qcut(VALUES, 4), observed=True
    )
    np.testing.assert_allclose(bins["value"], by["value"].mean())
    np.testing.assert_allclose(bins["accuracy"], by["y"].mean())
    assert (bins["low"] <= bins["accuracy"]).all()


def test_what_is_unknown_is_left_out():
    values = pd.Series(np.where(WRITERS == 1, np.nan, VALUES), name="tilt")
    writers = np.where(WRITERS == 2, None, WRITERS)
    found = trends(BEFORE, AFTER, values, individuals=writers)
    assert set(found.frame()["units"]) == {18}
    assert found.notes == (
        f"{(WRITERS == 1).sum()} examples of unknown tilt are left out.",
        f"{(WRITERS == 2).sum()} examples of unknown individuals are left out.",
    )
    nothing = trends(BEFORE, AFTER, np.full(200, np.nan))
    assert len(nothing.frame()) == len(nothing.binned) == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"values": VALUES[:3]},
            r"values: got shape \(3,\), expected one number for each of the 200",
        ),
        ({"values": np.full(200, np.inf)}, "values: got infinite ones"),
        ({"values": VALUES, "column": [1]}, r"column: got shape \(1,\)"),
        ({"values": VALUES, "bins": 0}, "bins: got 0"),
    ],
)
def test_bad_input(arguments, message):
    with pytest.raises(InputError, match=message):
        trends(BEFORE, AFTER, **arguments)


def test_a_constant_property_has_no_line():
    found = trends(BEFORE, AFTER, np.full(200, 0.3))
    assert found.frame()[["slope", "p", "r"]].isna().all(axis=None)
    assert found.binned["units"].tolist() == [200, 200]


def test_finds_a_planted_effect():
    """Compression loses an example with probability equal to its property: the slope of the change is -1."""
    rng = np.random.default_rng(1)
    labels, values = np.zeros(2000, int), rng.random(2000)
    before = Predictions.from_top1(labels, np.zeros((5, 2000), int), class_names="ab")
    after = Predictions.from_top1(
        labels, (rng.random((5, 2000)) < values).astype(int), class_names="ab"
    )
    found = trends(before, after, pd.Series(values, name="tilt"))
    row = found.frame().iloc[2]
    assert row["slope_low"] < -1 < row["slope_high"]
    assert found.summary()["property"] == "tilt"
    assert found.summary()["groups"]["all"]["change"] == row["slope"]
    assert found.summary()["groups"]["all"]["before"] == 0
    bins = found.binned.query("measure == 'after'")
    np.testing.assert_allclose(bins["accuracy"], 1 - bins["value"], atol=0.05)
    assert bins["units"].tolist() == [250] * 8


def test_lines_run_from_the_first_to_the_last_mean_at_the_heights_of_the_fit():
    found = trends(population(1), population(2, hurt=[3]), VALUES)
    shown = rows_of(found.chart()).query("part == 'line'")
    bins = found.binned["value"]
    for row in found.frame().query("measure != 'change'").to_dict("records"):
        ends = shown[shown["measure"] == row["measure"]]
        np.testing.assert_allclose(ends["value"], [bins.min(), bins.max()])
        heights = 100 * (row["intercept"] + row["slope"] * ends["value"])
        np.testing.assert_allclose(ends["accuracy"], heights)
