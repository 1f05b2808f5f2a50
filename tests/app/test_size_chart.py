"""Size against accuracy against harm: what is drawn, and which points bear names."""

import pandas as pd
import pytest

from tfaudit.app.size_chart import size_chart
from tfaudit.charts.point_labels import name_places


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
    layers = [layer for layer in specification["layer"] if layer["mark"]["type"] != "rule"]
    data = [specification["datasets"][layer["data"]["name"]] for layer in layers]
    return data[0], [row["title"] for rows in data[1:] for row in rows]


def marks(chart, kind):
    return [layer["mark"] for layer in chart.to_dict()["layer"] if layer["mark"]["type"] == kind]


def test_points_and_names():
    points, names = drawn(size_chart(table()))
    assert [row["size"] for row in points] == [4, 4, 1, 1.01]
    assert [round(row["changed"], 6) for row in points] == [0, 5, 9, 2]
    assert [row["what"] for row in points] == ["baseline", "compressed", "compressed", "compressed"]
    assert set(names) == {
        "dense",
        "a",
        "b",
        "c",
    }  # b and c lie upon each other: a name on each side of them


@pytest.mark.parametrize(("count", "named"), [(4, 4), (12, 12), (40, 13)])
def test_points_have_their_names_while_there_is_room_and_no_name_covers_another(count, named):
    rows = pd.DataFrame(
        {
            "title": ["dense", *(f"a variant of a long name {i}" for i in range(1, count))],
            "gzipped_bytes": [4e6, *(1e6 + 1e4 * i for i in range(1, count))],
            "top1": [0.9, *[0.85] * (count - 1)],
            "pies": [None, *range(1, count)],
            "pie_share": [None, *[0.1] * (count - 1)],
        }
    )
    chart = size_chart(rows)
    _, names = drawn(chart)
    assert len(names) == len(set(names)) == named
    assert "dense" in names
    places = [(mark["dx"], mark["dy"]) for mark in marks(chart, "text")]
    assert len(set(places)) == len(places)


def test_a_name_covers_no_other_point():
    points = pd.DataFrame(
        {"x": [0.0, 0.1, 1.0, 1.0], "y": [0.5, 0.55, 0.0, 1.0], "name": ["variant", "b", "c", "d"]}
    )
    places = name_places(points, "x", "y", "name", width=400, height=300)
    assert places.loc[0].tolist() == ["right", 14]  # above it lies b
