"""The chart of a pair draws what the comparison found, for ten classes and for hundreds."""

import json

import numpy as np
import pytest
import vl_convert

from tests.builders.populations import population
from tfaudit.audits.model_pair.model_pair import compare


def pair(**options):
    return compare(
        population(1, members=1, **options), population(2, members=1, hurt=(1,), **options)
    )


def rows(spec):
    return [row for data in spec["datasets"].values() for row in data]


def test_bars_show_the_lost_and_won_shares_and_points_the_change():
    found = pair(examples=400)
    drawn = rows(found.chart().to_dict())
    lost = {row["class"]: row["share_pp"] for row in drawn if row.get("kind") == "newly wrong"}
    assert lost == pytest.approx(
        {
            name: -100 * n / count
            for name, n, count in zip("01234", found.lost, found.examples, strict=True)
        }
    )
    changes = {row["class"]: row["change_pp"] for row in drawn if "kind" not in row}
    assert changes == pytest.approx(dict(zip("01234", 100 * found.difference, strict=True)))


def test_hundreds_of_classes_become_an_overview_and_two_ends():
    spec = pair(examples=3000, classes=300).chart().to_dict()
    overview, ends = spec["vconcat"]
    assert ends["title"] == "the 12 lowest and the 12 highest of 300 classes"
    named = {row["class"] for row in spec["datasets"][ends["layer"][1]["data"]["name"]]}
    assert len(named) == 24
    assert overview["layer"][0]["mark"]["type"] == "rule"


def test_classes_without_examples_are_left_out_and_equal_names_stay_apart():
    spec = pair(empty=(3,)).chart().to_dict()
    assert {row["class"] for row in rows(spec)} == set("0124")


@pytest.mark.parametrize("classes", [5, 60])
def test_it_renders_without_a_colour_that_one_theme_would_hide(classes):
    spec = pair(examples=600, classes=classes).chart().to_dict()
    assert vl_convert.vegalite_to_svg(spec).startswith("<svg")
    assert not any(colour in json.dumps(spec) for colour in ('"black"', '"#000'))
    assert np.isfinite([row["share_pp"] for row in rows(spec) if "share_pp" in row]).all()
