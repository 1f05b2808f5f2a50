"""Charts of groups, individuals and trends: what they name, how they crowd, that they follow the page's colour."""

import re

import numpy as np
import pandas as pd
import pytest

from tests.builders.drawings import assert_fits, rows_of, texts
from tests.builders.populations import population
from tfaudit.audits.groups.chart import individuals_chart
from tfaudit.audits.groups.groups import groups, individual_fits
from tfaudit.audits.groups.order import largest_losses_first
from tfaudit.audits.trends.trends import trends
from tfaudit.charts.rendering import inline_svg
from tfaudit.charts.style import GAIN, LOSS

BEFORE, AFTER = population(1), population(2, hurt=[3])
WRITERS = np.random.default_rng(5).integers(0, 100, 200)
SERIES = pd.Series(np.where(WRITERS < 30, "employee", "student"), name="series")
VALUES = pd.Series(np.random.default_rng(6).random(200), name="absolute tilt")


@pytest.mark.parametrize(
    "result",
    [
        groups(BEFORE, AFTER, SERIES),
        groups(BEFORE, AFTER, SERIES, individuals=WRITERS),
        groups(
            BEFORE,
            AFTER,
            np.full(200, "a name that is far too long for the margin of a chart in half a page"),
        ),
        groups(
            BEFORE,
            AFTER,
            np.char.add((WRITERS % 4).astype(str), " a name that is too long"),
            individuals=WRITERS,
        ),
        groups(BEFORE, AFTER, WRITERS),
        trends(BEFORE, AFTER, VALUES),
        trends(BEFORE, AFTER, VALUES, column=SERIES, individuals=WRITERS),
        trends(BEFORE, AFTER, VALUES, column=WRITERS % 9),
    ],
)
def test_charts_fit_a_column_and_any_page(result):
    assert_fits(result.chart(), 400)


def test_individuals_are_coloured_by_their_property():
    found = trends(BEFORE, AFTER, VALUES, column=SERIES, individuals=WRITERS)
    svg = inline_svg(found.scatter(), "")
    assert float(re.search(r'viewBox="0 0 ([\d.]+)', svg)[1]) <= 400
    assert {"absolute tilt", "employee", "student"} <= set(texts(found.scatter()))
    assert_fits(found.scatter(), 400)  # no legend of shapes in black
    assert len(found.units_frame()) == len(np.unique(WRITERS))
    hues = re.findall(r'fill="(rgb[^"]+)"', svg)
    assert len(set(hues)) > 10


def test_every_group_stands_once_the_most_harmed_first():
    found = groups(
        BEFORE, AFTER, pd.Series(np.where(BEFORE.labels == 3, "far", "near"), name="distance")
    )
    shown = [text for text in texts(found.chart()) if text in ("far", "near")]
    assert shown == ["far", "near"]


def test_only_a_loss_beyond_chance_has_its_colour():
    found = groups(BEFORE, AFTER, np.where(BEFORE.labels == 3, "far", "near"))
    svg = inline_svg(found.chart(), "")
    assert svg.count(f'stroke="{LOSS}"') == (found.frame()["verdict"] == "lost accuracy").sum() == 1
    assert f'stroke="{GAIN}"' not in svg


def test_many_groups_show_their_ends():
    found = groups(BEFORE, AFTER, WRITERS)
    names = set(found.frame()["group"])
    svg = texts(found.chart())
    assert any(f"10 smallest losses of {len(names)}" in (text or "") for text in svg)
    ordered = found.frame().sort_values("change_pp", kind="stable")["group"]
    assert set(ordered.head(10)) | set(ordered.tail(10)) <= set(svg)


def test_individuals_are_points_and_groups_have_lines():
    found = groups(BEFORE, AFTER, SERIES, individuals=WRITERS)
    svg = inline_svg(found.chart(), "")
    blue = len(re.findall('<path [^>]*fill="#4a7fc1"', svg))
    assert blue == (found.individuals_frame()["group"] == "employee").sum() + 1  # and the legend
    assert svg.count('stroke="#4a7fc1"') >= 1
    assert "individuals by series; below the dashed line: worse after" in texts(found.chart())


def test_single_models_have_no_intervals_and_a_chart():
    lone = [type(p)(p.labels, p.ranked[:1]) for p in (BEFORE, AFTER)]
    assert "student" in texts(groups(*lone, SERIES, individuals=WRITERS).chart())


def test_individuals_on_one_spot():
    found = groups(BEFORE, BEFORE, SERIES, individuals=np.zeros(200))
    assert "accuracy after, %" in texts(found.chart())


def test_a_panel_per_group():
    svg = texts(trends(BEFORE, AFTER, VALUES, column=SERIES).chart())
    assert {"series employee", "series student", "absolute tilt"} <= set(svg)


def test_lines_run_through_the_means():
    """A line is drawn from the first to the last mean, at the heights of the fit."""
    found = trends(BEFORE, AFTER, VALUES)
    drawn = rows_of(found.chart()).query("part == 'line'")
    bins = found.bins_frame()["value"]
    for row in found.frame().query("measure != 'change'").to_dict("records"):
        ends = drawn[drawn["measure"] == row["measure"]]
        np.testing.assert_allclose(ends["value"], [bins.min(), bins.max()])
        heights = 100 * (row["intercept"] + row["slope"] * ends["value"])
        np.testing.assert_allclose(ends["accuracy"], heights)


def test_of_many_individuals_a_sample_is_drawn_and_the_title_says_so():
    count = 5000
    people = pd.DataFrame(
        {"group": "a", "individual": [f"w{i}" for i in range(count)], "examples": 1}
    )
    shares = np.random.default_rng(0).random((2, count))
    people["accuracy_before"], people["accuracy_after"] = shares
    people["change_pp"] = 100 * (shares[1] - shares[0])
    chart = individuals_chart(people, individual_fits(people), "series")
    assert chart.title.startswith("4,500 of 5,000 individuals by series")
    drawn = rows_of(chart)["individual"].dropna()
    assert len(drawn) == drawn.nunique() == 4500


def test_changes_and_histograms_of_a_property():
    """[P] figures 2 and 11: every unit has a point and is counted once."""
    found = trends(BEFORE, AFTER, VALUES, column=SERIES, individuals=WRITERS)
    drawn = rows_of(found.change_chart())
    assert drawn["unit"].notna().sum() == len(found.units_frame())
    assert drawn["unit"].isna().sum() == 40 * len(set(SERIES))  # of the curves
    assert rows_of(found.histogram())["units"].sum() == len(found.units_frame())
    flat = trends(BEFORE, AFTER, np.repeat([0, 1], 100))
    assert len(flat.change_chart().to_dict()["layer"]) == 2  # two values have no parabola
    flat.histogram().to_dict()


def test_of_many_groups_the_extremes_are_named_that_are_more_than_chance():
    many = np.concatenate(
        [np.repeat(np.arange(12), 15), 100 + np.arange(20)]
    )  # 20 groups of one image
    result = groups(BEFORE, AFTER, pd.Series(many).map(lambda kind: f"kind {kind}").rename("kind"))
    shown = set(texts(result.chart()))
    assert (
        "kind: 10 largest and 10 smallest losses of 32" in shown
    )  # too few of 10 images for both ends
    many = pd.Series(
        np.concatenate([np.repeat(np.arange(16), 10), np.repeat(100 + np.arange(20), 2)]),
        name="kind",
    )
    few = groups(BEFORE, AFTER, many).table
    assert list(largest_losses_first(few)["examples"] < 10) == [False] * 16 + [True] * 20
