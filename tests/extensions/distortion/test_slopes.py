"""Frames over many distortions: against pandas and SciPy, on a study in miniature."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from tests.builders.populations import population
from tfaudit.errors import InputError
from tfaudit.extensions.distortion.recall_distortion import distortion
from tfaudit.extensions.distortion.slopes import (
    slope_frame,
    slope_intervals,
    slope_means,
)

DENSE = population(1)
STUDY = {
    ("magnitude", 4): distortion(DENSE, population(3, hurt=[3])),
    ("magnitude", 2): distortion(DENSE, population(2)),
    ("random", 2): distortion(DENSE, population(4, hurt=[1, 2])),
}
SLOPES = slope_frame(STUDY, by=("method", "level"))


def test_intervals_correct_for_the_levels_of_their_family():
    intervals = slope_intervals(SLOPES)
    assert list(intervals["level"]) == [2, 4, 2]  # levels ascend, methods stay as they came
    assert list(intervals["method"]) == ["magnitude", "magnitude", "random"]
    np.testing.assert_allclose(intervals["confidence"], [0.975, 0.975, 0.95])
    for row in intervals.itertuples():
        alpha = STUDY[row.method, row.level].alpha
        low, high = stats.t.interval(row.confidence, 5, loc=alpha.mean(), scale=stats.sem(alpha))
        assert (row.alpha, row.low, row.high) == pytest.approx((alpha.mean(), low, high))
        assert row.mark == ("<" if high < 1 else ">" if low > 1 else "?")


def test_means_equal_pandas():
    means = slope_means(SLOPES).set_index(["method", "level"])
    groups = SLOPES.groupby(["method", "level"])
    for name in ("alpha", "accuracy_before", "accuracy_after"):
        for column, expected in ((name, groups[name].mean()), (f"{name}_se", groups[name].sem())):
            pd.testing.assert_series_equal(means[column], expected, check_names=False)
    for key, each in STUDY.items():
        variances = each.members_frame()[["variance_before", "variance_after"]].mean()
        grew = variances["variance_after"] > variances["variance_before"]
        assert means.loc[key, "variance_grew"] == grew


def test_undefined_slopes_are_not_dropped_in_silence():
    slopes = SLOPES.assign(alpha=SLOPES["alpha"].where(SLOPES["member"] > 0))
    assert slope_means(slopes)["alpha"].isna().all()
    assert set(slope_intervals(slopes)["mark"]) == {"?"}


@pytest.mark.parametrize(
    ("study", "by", "message"),
    [
        ({}, "level", "distortions: got metrics none"),
        (
            {1: STUDY["random", 2], 2: distortion(DENSE, DENSE, metric="f1")},
            "level",
            "metrics f1, recall",
        ),
        (
            STUDY,
            "level",
            r"got key \('magnitude', 4\), expected keys of as many parts as by names: level",
        ),
    ],
)
def test_bad_studies(study, by, message):
    with pytest.raises(InputError, match=message):
        slope_frame(study, by=by)
