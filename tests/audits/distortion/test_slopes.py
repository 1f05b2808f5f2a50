"""Frames over many distortions: against pandas and SciPy, on a study in miniature."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from tests.builders.populations import population
from tfaudit.audits.distortion.recall_distortion import distortion
from tfaudit.audits.distortion.slopes import (
    balance_frame,
    pooled_frame,
    slope_frame,
    slope_intervals,
    slope_means,
)
from tfaudit.errors import InputError

DENSE = population(1)
STUDY = {
    ("magnitude", 4): distortion(DENSE, population(3, hurt=[3])),
    ("magnitude", 2): distortion(DENSE, population(2)),
    ("random", 2): distortion(DENSE, population(4, hurt=[1, 2])),
}
SLOPES = slope_frame(STUDY, by=("method", "level"))


def test_slope_frame_has_a_row_per_distortion_and_member():
    assert len(SLOPES) == 18
    rows = SLOPES.query("method == 'magnitude' and level == 4")
    np.testing.assert_array_equal(rows["alpha"], STUDY["magnitude", 4].alpha)
    assert list(rows["member"]) == list(range(6))


def test_one_factor_needs_no_tuples():
    frame = slope_frame({0.5: STUDY["magnitude", 2]}, by="level")
    assert list(frame.columns[:2]) == ["level", "member"]
    np.testing.assert_array_equal(frame["variance_before"], DENSE.recall().var(1))


def test_points_and_lines_of_the_figures():
    assert len(balance_frame(STUDY, by=("method", "level"))) == 3 * 6 * 5
    lines = pooled_frame(STUDY, by=("method", "level"))
    assert list(lines["pooled_slope"]) == [each.pooled_slope for each in STUDY.values()]


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


def test_order_of_rows_plays_no_part():
    shuffled = SLOPES.sample(frac=1, random_state=0)
    for frame in (slope_means, slope_intervals):
        plain, other = (
            frame(each).sort_values(["method", "level"], ignore_index=True)
            for each in (SLOPES, shuffled)
        )
        pd.testing.assert_frame_equal(plain, other)


def test_undefined_slopes_are_not_dropped_in_silence():
    slopes = SLOPES.assign(alpha=SLOPES["alpha"].where(SLOPES["member"] > 0))
    assert slope_means(slopes)["alpha"].isna().all()
    assert set(slope_intervals(slopes)["mark"]) == {"?"}


def test_a_single_member():
    one = SLOPES[SLOPES["member"] == 0]
    assert slope_means(one)["alpha_se"].isna().all()
    assert slope_intervals(one)["low"].isna().all()


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


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (SLOPES.drop(columns=["alpha", "level"]), "slopes: got no level, alpha, expected a frame"),
        (SLOPES.head(0), "slopes: got no rows, expected a frame"),
        (SLOPES.assign(method=None), "slopes: got missing values in method"),
    ],
)
def test_bad_frames(frame, message):
    with pytest.raises(InputError, match=message):
        slope_intervals(frame)
