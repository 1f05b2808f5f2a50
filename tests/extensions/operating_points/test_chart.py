"""The chart of trade-offs marks what the frame and the gate say, and leaves out names that would cover each other."""

import pandas as pd

from tests.builders.drawings import rows_of, texts
from tfaudit.charts.rendering import inline_svg
from tfaudit.charts.style import BLUE, GREEN, GREY
from tfaudit.extensions.operating_points.chart import operating_points_chart
from tfaudit.extensions.operating_points.operating_points import operating_points

TABLE = pd.DataFrame(
    {
        "variant": ["a", "b", "c", "d"],
        "technique": "l1",
        "sparsity": [0.3, 0.5, 0.7, 0.9],
        "unfairness": [0.02, 0.01, 0.05, 0.2],
        "accuracy": [0.99, 0.99, 0.985, 0.8],
    }
)


def test_marks_of_trade_offs_follow_the_frame_and_the_gate():
    found = operating_points(TABLE, floor=0.98, weights={"sparsity": 1, "unfairness": 10})
    chart = found.chart()
    # Two panels and the legend; points of the Pareto set bear their names.
    svg = inline_svg(chart, "")
    assert [svg.count(f'fill="{colour}"') for colour in (GREEN, BLUE, GREY)] == [5, 5, 6]
    shown = set(texts(chart))
    assert {"b", "c", "sparsity, %", "unfairness, points", "accuracy, %"} <= shown
    assert not {"a", "d"} & shown
    assert ["'rule'" in str(panel) for panel in chart.to_dict()["vconcat"]] == [False, True]
    outcomes = {"b": "fail", "c": "cannot judge", "d": "fail"}
    points = rows_of(operating_points(TABLE, floor=None, outcomes=outcomes).chart())
    assert points.dropna(subset=["variant"]).groupby("variant")["status"].first().tolist() == [
        "Pareto set",
        "fails the gate",
        "cannot be judged",
        "fails the gate",
    ]


def test_names_that_would_cover_each_other_are_left_out_but_never_that_of_the_choice():
    crowd = pd.DataFrame(
        {
            "variant": [f"a name of many letters, {i}" for i in range(5)] + ["far", "away"],
            "sparsity": [0.5, 0.501, 0.502, 0.503, 0.504, 0.3, 0.9],
            "unfairness": [0.050, 0.051, 0.052, 0.053, 0.054, 0.01, 0.3],
        }
    )
    found = operating_points(crowd, floor=None, weights={"sparsity": 1, "unfairness": 0.9})
    for choice in (crowd["variant"][2], "far"):
        frame = found.frame().assign(chosen=crowd["variant"] == choice)
        named = set(texts(operating_points_chart(frame, found.objectives, None)))
        shown = {choice if choice.startswith("a name") else crowd["variant"][0], "far", "away"}
        assert named & set(crowd["variant"]) == shown
