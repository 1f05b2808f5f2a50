"""The chart of a pair draws what the comparison found, for ten classes and for hundreds."""

import dataclasses
import json

import numpy as np
import pytest
import vl_convert

from tests.builders.drawings import rows_of
from tests.builders.populations import population
from tfaudit.audits.model_pair.flips_chart import MOST, flips_chart
from tfaudit.audits.model_pair.model_pair import compare


def pair(**options):
    return compare(
        population(1, members=1, **options), population(2, members=1, hurt=(1,), **options)
    )


def test_bars_show_the_lost_and_won_shares_and_points_the_change():
    found = pair(examples=400)
    drawn = rows_of(found.chart()).set_index("class")
    lost = drawn.loc[drawn["kind"] == "newly wrong", "share_pp"]
    np.testing.assert_allclose(lost[list("01234")], -100 * found.lost / found.examples)
    changes = drawn.loc[drawn["kind"].isna(), "change_pp"]
    np.testing.assert_allclose(changes[list("01234")], 100 * found.difference)


def test_hundreds_of_classes_become_an_overview_and_two_ends():
    spec = pair(examples=3000, classes=300).chart().to_dict()
    overview, ends = spec["vconcat"]
    assert ends["title"] == "the 12 lowest and the 12 highest of 300 classes"
    named = {row["class"] for row in spec["datasets"][ends["layer"][1]["data"]["name"]]}
    assert len(named) == 24
    assert overview["layer"][0]["mark"]["type"] == "rule"


def test_classes_without_examples_are_left_out_and_equal_names_stay_apart():
    assert set(rows_of(pair(empty=(3,)).chart())["class"]) == set("0124")


@pytest.mark.parametrize("classes", [5, 60])
def test_it_renders_without_a_colour_that_one_theme_would_hide(classes):
    chart = pair(examples=600, classes=classes).chart()
    spec = chart.to_dict()
    assert vl_convert.vegalite_to_svg(spec).startswith("<svg")
    assert not any(colour in json.dumps(spec) for colour in ('"black"', '"#000'))
    rows = rows_of(chart)
    assert np.isfinite(rows.loc[rows["kind"].notna(), "share_pp"]).all()


def test_a_collapsed_class_is_opaque_whatever_its_verdict():
    found = pair(examples=400)
    unclear = found.frame()["verdict"].eq("cannot tell").to_numpy() & ~found.collapsed
    collapsed = np.arange(5) == np.flatnonzero(unclear)[0]
    drawn = rows_of(dataclasses.replace(found, collapsed=found.collapsed | collapsed).chart())
    assert drawn.loc[drawn["class"] == str(collapsed.argmax()), "claimed"].all()
    rows = rows_of(found.chart())
    assert not rows.loc[rows["class"] == str(collapsed.argmax()), "claimed"].any()


def test_a_cell_counts_the_images_between_two_predictions():
    flips = pair(examples=400).flips_frame()
    cells = rows_of(flips_chart(flips)).set_index(["before", "after"])["images"]
    counts = flips.groupby(["before", "after"]).size()
    assert cells.to_dict() == counts.to_dict()
    many = pair(examples=3000, classes=300).flips_frame()
    chart = flips_chart(many)
    drawn = rows_of(chart)
    assert drawn["before"].nunique() <= MOST
    left = len(many) - drawn["images"].sum()
    assert chart.to_dict()["title"] == f"{left:,} images in other pairs"
    vl_convert.vegalite_to_svg(json.dumps(chart.to_dict()))
