"""Charts of recall distortion hold what they should, in any theme and for any size of study."""

import functools
import re
import xml.etree.ElementTree as ET

import altair as alt
import numpy as np
import pandas as pd
import pytest

from tests.builders.drawings import assert_fits, rows_of
from tests.builders.populations import population
from tfaudit.audits.distortion.chart import balance_chart
from tfaudit.audits.distortion.recall_distortion import distortion
from tfaudit.audits.distortion.slope_chart import interval_chart, slope_chart, tradeoff_chart
from tfaudit.audits.distortion.slope_tables import level_table
from tfaudit.audits.distortion.slopes import (
    balance_frame,
    pooled_frame,
    slope_frame,
    slope_intervals,
)
from tfaudit.charts.rendering import inline_svg
from tfaudit.predictions import Predictions

BY = ("method", "level")
DENSE = population(1)
STUDY = {
    (method, level): distortion(DENSE, population(10 * i + j + 2, hurt=[3] * j))
    for i, method in enumerate(("magnitude", "random"))
    for j, level in enumerate((2, 4))
}
SLOPES = slope_frame(STUDY, by=BY)
INTERVALS = slope_intervals(SLOPES)
PLUM, GREEN, BLUE = "#9c5394", "#1aa37c", "#4a7fc1"


def texts(chart):
    drawn = ET.fromstring(inline_svg(chart, "")).iter()
    return [
        element.text
        for element in drawn
        if element.tag.endswith(("}text", "}tspan")) and element.text
    ]


def fills(chart, colour):
    return len(re.findall(f'fill="{colour}"', inline_svg(chart, "")))


@functools.cache
def charts():
    return {
        "one": STUDY["random", 4].chart(),
        "balances": balance_chart(balance_frame(STUDY, by=BY), pooled_frame(STUDY, by=BY)),
        "slopes": slope_chart(SLOPES, INTERVALS),
        "intervals": interval_chart(INTERVALS),
        "tradeoff": tradeoff_chart(level_table(SLOPES, dense=1)),
    }


@pytest.mark.parametrize("name", ["one", "balances", "slopes", "intervals", "tradeoff"])
def test_charts_fit_a_narrow_page_and_a_dark_one(name):
    assert_fits(charts()[name], 860 if name == "balances" else 440)


def test_every_class_of_every_member_is_a_point_and_the_line_has_the_pooled_slope():
    found = STUDY["random", 4]
    assert fills(found.chart(), BLUE) == 30
    lines = [rows for rows in found.chart().to_dict()["datasets"].values() if len(rows) == 2]
    slopes = {round((end["y"] - start["y"]) / (end["x"] - start["x"]), 9) for start, end in lines}
    assert slopes == {1.0, round(found.pooled_slope, 9)}
    assert f"slope {found.pooled_slope:.2f}, r² {found.pooled_r2:.2f}" in "".join(
        filter(None, texts(found.chart()))
    )


def test_two_methods_stand_side_by_side():
    expected = ["magnitude 2", "random 2", "magnitude 4", "random 4"]
    assert [text for text in texts(charts()["balances"]) if text in expected] == expected


@pytest.mark.slow
def test_thousands_of_points_are_sampled_and_that_is_said():
    rng = np.random.default_rng(0)
    labels = np.arange(6000) % 600
    many = [
        Predictions.from_top1(labels, np.where(rng.random((9, 6000)) < 0.8, labels, 0))
        for _ in range(2)
    ]
    chart = distortion(*many).chart()
    assert rows_of(chart)["class"].notna().sum() == 4500
    assert "4,500 of 5,400 points drawn" in texts(chart)
    assert chart.to_dict() == distortion(*many).chart().to_dict()


def test_marks_are_written_and_coloured():
    marks = ["<", ">", "?", "<"]
    intervals = INTERVALS.assign(mark=marks)
    for chart in (interval_chart(intervals), slope_chart(SLOPES, intervals)):
        assert {"magnitude 2 <", "magnitude 4 >", "random 2 ?", "random 4 <"} <= set(texts(chart))
    assert fills(interval_chart(intervals), PLUM) == 1 + 1  # and the legend
    assert fills(interval_chart(intervals), GREEN) == 2 + 1


def test_slopes_of_several_methods_are_one_chart_which_can_be_as_wide_as_the_page():
    titled = [
        rows.assign(title=[f"{m} ratio {n}" for m, n in rows[[*BY]].to_numpy()])
        for rows in (SLOPES, INTERVALS)
    ]
    for chart in (slope_chart(*titled), interval_chart(titled[1])):
        assert isinstance(chart, alt.LayerChart)
        named = [text for text in texts(chart) if "ratio" in text]
        assert [name[:-2] for name in named] == [
            *("magnitude ratio 2", "magnitude ratio 4", "random ratio 2", "random ratio 4")
        ]


def test_intervals_name_their_confidence():
    assert "slope, 97.5 % confidence" in texts(interval_chart(INTERVALS))


def test_the_middle_of_both_axes_is_no_change():
    (first, *_) = charts()["tradeoff"].to_dict()["vconcat"]
    domains = [
        layer["encoding"]["y"]["scale"]["domain"]
        for layer in first["layer"]
        if "scale" in layer["encoding"].get("y", {})
    ]
    middles = {round(np.mean(domain), 9) for domain in domains}
    assert middles == {1.0, round(100 * DENSE.accuracy().mean(), 9)}


def test_no_accuracy_beyond_all_or_nothing_and_no_level_without_its_name():
    names = [f"quantized to {i} bits" for i in range(12)]
    levels = pd.DataFrame(
        {
            "level": ["dense", *names],
            "members": 2,
            "accuracy": np.linspace(0.95, 0.1, 13),
            "accuracy_se": 0.01,
            "alpha": [np.nan, *np.linspace(1, 9, 12)],
            "alpha_se": 0.1,
        }
    )
    drawn = texts(tradeoff_chart(levels))
    assert {"dense", *names} <= set(drawn)
    assert {"0", "100"} <= set(drawn)
    assert not {"120", "150", "200", "−50"} & set(drawn)


def test_a_line_goes_on_over_a_level_without_a_slope():
    levels = pd.DataFrame(
        {"level": ["dense", "2", "4", "8"], "members": 2, "accuracy": 0.9, "accuracy_se": 0.01}
    )
    svg = inline_svg(
        tradeoff_chart(levels.assign(alpha=[np.nan, 1.0, np.nan, 2.0], alpha_se=0.1)), ""
    )
    (line,) = re.findall(r'<path d="([^"]*)" stroke="#d07c00" stroke-width="2"', svg)
    assert (line.count("M"), line.count("L")) == (1, 1)


@pytest.mark.slow
def test_single_members_and_undefined_slopes_still_draw():
    one = slope_frame({2: distortion(population(1, members=1), population(2, members=1))})
    nothing = distortion(
        DENSE, Predictions.from_top1(DENSE.labels, (DENSE.labels + 1) % 5, class_names=range(5))
    )
    undefined = slope_frame({2: nothing})
    for slopes in (one, undefined):
        intervals = slope_intervals(slopes)
        for chart in (
            slope_chart(slopes, intervals),
            interval_chart(intervals),
            tradeoff_chart(level_table(slopes)),
        ):
            assert "2 ?" in texts(chart) or "2" in texts(chart)
    inline_svg(nothing.chart(), "")


@pytest.mark.slow
def test_numbers_and_names_of_levels_stand_in_one_chart_without_a_column_of_both():
    found = {**STUDY, ("quantization", "int8"): distortion(DENSE, population(40))}
    slopes = slope_frame(found, by=BY)
    for chart in (
        slope_chart(slopes, slope_intervals(slopes)),
        interval_chart(slope_intervals(slopes)),
    ):
        assert all(
            len(set(map(type, rows_of(chart)[name].dropna()))) <= 1 for name in rows_of(chart)
        )
    assert any("int8" in text for text in texts(tradeoff_chart(level_table(slopes))))
