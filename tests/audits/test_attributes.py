"""Over-indexing against fairlearn, SciPy and pandas; columns of any kind; no exemplars."""

import numpy as np
import pandas as pd
import pytest
from fairlearn.metrics import MetricFrame, selection_rate
from scipy import stats
from statsmodels.stats.multitest import multipletests

from tests.builders.populations import population
from tfaudit.audits.attributes.attributes import attributes
from tfaudit.audits.exemplars.exemplars import exemplars
from tfaudit.errors import InputError

BEFORE, AFTER = population(1, examples=400), population(2, examples=400, hurt=[3])
PIE = np.isin(np.arange(400), exemplars(BEFORE, AFTER).index)
RNG = np.random.default_rng(0)
TABLE = pd.DataFrame(
    {
        "blond": RNG.random(400) < 0.2 + 0.5 * PIE,
        "young": (RNG.random(400) < 0.7).astype(int),
        "rare": np.arange(400) < 3,
        "hair": RNG.choice(["black", "brown", "grey"], 400),
    }
)


def test_shares_equal_those_of_fairlearn():
    frame = attributes(BEFORE, AFTER, TABLE).frame().set_index(["attribute", "value"])
    assert list(frame.index)[:3] == [("blond", "yes"), ("young", "yes"), ("rare", "yes")]
    for name, value in frame.index:
        has = TABLE[name] == (1 if value == "yes" else value)
        rates = MetricFrame(
            metrics=selection_rate, y_true=has, y_pred=has, sensitive_features=PIE
        ).by_group
        row = frame.loc[(name, value)]
        assert (row["share_non_pie"], row["share_pie"]) == pytest.approx(
            (rates[False], rates[True])
        )
        assert row["examples"] == has.sum()
        assert row["ratio"] == pytest.approx(rates[True] / rates[False])


def test_the_test_follows_the_expected_counts():
    frame = attributes(BEFORE, AFTER, TABLE).frame()
    for row in frame.to_dict("records"):
        has = TABLE[row["attribute"]] == (1 if row["value"] == "yes" else row["value"])
        cross = pd.crosstab(PIE, has)
        reference = stats.chi2_contingency(cross, correction=False)
        exact = reference.expected_freq.min() < 5
        assert row["test"] == ("Fisher exact" if exact else "z")
        assert row["p"] == pytest.approx(
            stats.fisher_exact(cross).pvalue if exact else reference.pvalue
        )
    assert set(frame["test"]) == {"Fisher exact", "z"}
    np.testing.assert_allclose(frame["p_holm"], multipletests(frame["p"], method="holm")[1])


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ([0.0, 1.0, np.nan, 1.0], ["yes", "(missing)"]),
        ([True, None, False, True], ["yes", "(missing)"]),
        ([False] * 4, ["yes"]),
        (["0", "1", "0", "1"], ["0", "1"]),
        ([-1, 1, -1, 1], ["-1", "1"]),
        ([None] * 4, ["(missing)"]),
    ],
)
def test_columns_of_any_kind(column, values):
    frame = attributes(BEFORE, AFTER, pd.DataFrame({"x": column * 100})).frame()
    assert list(frame["value"]) == values


@pytest.mark.parametrize(
    ("table", "options", "message"),
    [
        (
            TABLE.head(),
            {},
            r"table: got shape \(5, 4\), expected a DataFrame with a row for each of the 400",
        ),
        (TABLE["hair"], {}, "table: got Series, expected a DataFrame"),
        (TABLE[[]], {}, r"table: got shape \(400, 0\)"),
        (
            pd.DataFrame({"age": np.arange(400)}),
            {},
            "table: got 400 distinct numbers in column 'age', expected at most",
        ),
    ],
)
def test_bad_input(table, options, message):
    with pytest.raises(InputError, match=message):
        attributes(BEFORE, AFTER, table, **options)


def test_without_exemplars():
    found = attributes(BEFORE, BEFORE, TABLE)
    assert found.frame()[["share_pie", "ratio", "low_pp", "p", "p_holm"]].isna().all(axis=None)
    assert found.notes == ("There are no PIEs: their shares are undefined, and nothing is tested.",)
    assert found.summary()["most_over"] is None
