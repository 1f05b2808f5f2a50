"""Size against accuracy against harm: what is drawn, and which points bear names."""

import pandas as pd
import pytest

from tfaudit.charts.costs import size_chart


def table(**columns):
    rows = {
        "title": ["dense", "a", "b", "c"],
        "gzipped_bytes": [4e6, 4e6, 1e6, 1.01e6],
        "top1": [0.9, 0.8, 0.9, 0.9],
        "pies": [None, 5, 9, 2],
        "pie_share": [None, 0.05, 0.09, 0.02],
    }
    return pd.DataFrame(rows | columns)


def drawn(chart):
    specification = chart.to_dict()
    data = [specification["datasets"][layer["data"]["name"]] for layer in specification["layer"]]
    return data[0], [row["title"] for rows in data[1:] for row in rows]


def test_points_and_names():
    points, names = drawn(size_chart(table()))
    assert [row["megabytes"] for row in points] == [4, 4, 1, 1.01]
    assert [round(row["changed"], 6) for row in points] == [0, 5, 9, 2]
    assert [row["what"] for row in points] == ["baseline", "compressed", "compressed", "compressed"]
    assert set(names) == {"dense", "a", "b", "c"}  # b and c lie upon each other: a name on each side of them


def test_a_name_gives_way_to_that_of_more_harm():
    _, names = drawn(size_chart(table(title=["dense", "a", "the one with harm", "the other of the two"])))
    assert set(names) == {"dense", "a", "the one with harm"}


@pytest.mark.parametrize("smallest", [1e3, 1e6, 3.9e6])
def test_the_axis_of_sizes_does_not_go_below_nothing(smallest):
    low, high = size_chart(table(gzipped_bytes=[4e6, 4e6, smallest, 2e6])).to_dict()["layer"][0]["encoding"]["x"][
        "scale"
    ]["domain"]
    assert 0 <= low < smallest / 1e6
    assert high > 4


def test_unknown_sizes_are_left_out():
    points, _ = drawn(size_chart(table(gzipped_bytes=[4e6, None, 1e6, None])))
    assert [row["title"] for row in points] == ["dense", "b"]


def test_one_point():
    points, names = drawn(size_chart(table().head(1)))
    assert len(points) == 1
    assert names == ["dense"]
