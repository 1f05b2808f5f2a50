"""Size against accuracy against harm: what is drawn, and which points bear names."""

import pandas as pd

from tfaudit.report.charts.sizes import size_chart


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
    assert set(names) == {"dense", "a", "b"}  # c lies upon b, which harms more


def test_unknown_sizes_are_left_out():
    points, _ = drawn(size_chart(table(gzipped_bytes=[4e6, None, 1e6, None])))
    assert [row["title"] for row in points] == ["dense", "b"]


def test_one_point():
    points, names = drawn(size_chart(table().head(1)))
    assert len(points) == 1
    assert names == ["dense"]
