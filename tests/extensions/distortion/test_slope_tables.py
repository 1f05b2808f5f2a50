"""Tables 10 to 13 of [R] against pandas."""

import pytest

from tests.builders.populations import population
from tfaudit.extensions.distortion.recall_distortion import distortion
from tfaudit.extensions.distortion.slope_tables import accuracy_table, level_table, variance_table
from tfaudit.extensions.distortion.slopes import slope_frame
from tfaudit.predictions import Predictions

DENSE = population(1)
LAST = population(3, hurt=[3])
STUDY = {
    (0.9, "magnitude"): distortion(
        DENSE, Predictions(LAST.labels, LAST.ranked[:4], members=range(4))
    ),
    (0.5, "magnitude"): distortion(DENSE, population(2)),
    (0.5, "random"): distortion(DENSE, population(4, hurt=[1, 2])),
}
SLOPES = slope_frame(STUDY, by=("level", "method"))


def test_accuracy_before_counts_every_dense_member_once():
    table = accuracy_table(SLOPES)
    assert list(table["method"]) == ["magnitude", "random"]
    assert list(table["members"]) == [6, 6]
    assert list(table["accuracy"]) == pytest.approx([DENSE.accuracy().mean()] * 2)


def test_variances():
    table = variance_table(SLOPES)
    assert list(table.columns) == ["before", 0.5, 0.9]
    assert table.loc["magnitude", "before"] == pytest.approx(DENSE.recall().var(1).mean())
    assert table.loc["magnitude", 0.9] == pytest.approx(LAST.recall()[:4].var(1).mean())
    assert table.isna().sum().sum() == 1  # random pruning has one level
    assert variance_table(SLOPES[SLOPES["method"] == "random"].drop(columns="method")).shape == (
        1,
        2,
    )


def test_levels_begin_with_the_dense_models():
    table = level_table(SLOPES, dense=0.0)
    assert list(table["level"]) == [0.0, 0.5, 0.9, 0.0, 0.5]
    assert list(table["members"]) == [6, 6, 4, 6, 6]
    assert list(table["alpha"].isna()) == [True, False, False, True, False]
    assert table["alpha"][2] == pytest.approx(STUDY[0.9, "magnitude"].alpha.mean())
    assert table["accuracy"][0] == pytest.approx(DENSE.accuracy().mean())
    assert table["accuracy_se"][0] == pytest.approx(DENSE.accuracy().std(ddof=1) / 6**0.5)
    assert table["accuracy_se"][2] == pytest.approx(LAST.accuracy()[:4].std(ddof=1) / 2)
