"""The charts of trade-offs show what the frame says, for few points and for thousands."""

import numpy as np
import pandas as pd
import pytest

from tests.builders.drawings import rows_of, texts
from tfaudit.audits.operating_points.chart import operating_points_chart
from tfaudit.audits.operating_points.operating_points import operating_points
from tfaudit.charts.rendering import inline_svg
from tfaudit.charts.style import BLUE, GREEN, GREY

TABLE = pd.DataFrame(
    {
        "variant": ["a", "b", "c", "d"],
        "technique": "l1",
        "sparsity": [0.3, 0.5, 0.7, 0.9],
        "unfairness": [0.02, 0.01, 0.05, 0.2],
        "accuracy": [0.99, 0.99, 0.985, 0.8],
    }
)
LOOKS = {"chosen": GREEN, "pareto": BLUE, "rest": GREY}


@pytest.mark.slow
def test_marks_follow_the_frame():
    found = operating_points(TABLE, floor=0.98, weights={"sparsity": 1, "unfairness": 10})
    assert found.frame()[["pareto", "chosen"]].to_numpy().sum(0).tolist() == [2, 1]
    svg = inline_svg(found.chart(), "")
    # Two panels and the legend; points of the Pareto set bear their names.
    fills = {kind: svg.count(f'fill="{colour}"') for kind, colour in LOOKS.items()}
    assert fills == {"chosen": 2 + 1 + 2, "pareto": 2 + 1 + 2, "rest": 4 + 2}
    shown = set(texts(found.chart()))
    assert {"b", "c", "sparsity, %", "unfairness, points", "accuracy, %"} <= shown
    assert not {"a", "d"} & shown


def test_what_the_gate_says_is_a_mark_of_its_own():
    found = operating_points(
        TABLE, floor=0.98, outcomes={"b": "fail", "c": "cannot judge", "d": "fail"}
    )
    points = rows_of(found.chart()).dropna(subset=["variant"]).drop_duplicates("variant")
    status = points.sort_values("variant")["status"].tolist()
    assert status == ["Pareto set", "fails the gate", "cannot be judged", "fails the gate"]


@pytest.mark.slow
def test_names_that_would_cover_each_other_are_left_out_but_never_that_of_the_choice():
    crowd = pd.DataFrame(
        {
            "variant": [f"a name of many letters, {i}" for i in range(5)] + ["far", "away"],
            "sparsity": [0.5, 0.501, 0.502, 0.503, 0.504, 0.3, 0.9],
            "unfairness": [0.050, 0.051, 0.052, 0.053, 0.054, 0.01, 0.3],
        }
    )
    found = operating_points(crowd, floor=None, weights={"sparsity": 1, "unfairness": 0.9})
    assert found.frame()["pareto"].all()
    for choice in crowd["variant"]:
        frame = found.frame().assign(chosen=crowd["variant"] == choice)
        named = set(texts(operating_points_chart(frame, found.objectives, None)))
        shown = {choice if choice.startswith("a name") else crowd["variant"][0], "far", "away"}
        assert named & set(crowd["variant"]) == shown


@pytest.mark.slow
def test_the_floor_is_drawn_where_accuracy_is():
    with_floor, without = (
        operating_points(TABLE, floor=floor).chart().to_dict() for floor in (0.98, None)
    )
    assert ["'rule'" in str(panel) for panel in with_floor["vconcat"]] == [False, True]
    assert "'rule'" not in str(without)


@pytest.mark.parametrize(
    ("objectives", "panels"),
    [
        ({"sparsity": "max"}, 1),
        ({"sparsity": "max", "unfairness": "min"}, 2),
        ({"sparsity": "max", "unfairness": "min", "accuracy": "max"}, 2),
        ({"accuracy": "max"}, 1),
    ],
)
def test_one_panel_per_further_objective(objectives, panels):
    chart = operating_points(TABLE, objectives=objectives).chart()
    assert len(chart.to_dict()["vconcat"]) == panels
    assert inline_svg(chart, "")


@pytest.mark.slow
def test_thousands_of_points_are_thinned_but_the_choice_stays():
    rng = np.random.default_rng(0)
    many = pd.DataFrame(
        {
            "variant": [f"v{i}" for i in range(20_000)],
            **dict(zip("xy", rng.random((2, 20_000)), strict=True)),
        }
    )
    found = operating_points(many, objectives={"x": "max", "y": "max"}, weights={"x": 1, "y": 1})
    shown = texts(found.chart())
    optimal = int(found.frame()["pareto"].sum())
    others = -(-(20_000 - optimal) // 10)
    assert f"{others + optimal:,} of 20,000 points are drawn" in shown
    assert found.summary()["choice"] in shown


def test_sizes_are_written_in_the_unit_of_the_axis():
    """Not as 1.5k kB."""
    found = operating_points(
        TABLE.assign(**{"gzipped kB": [3242, 2500, 1257, 528]}), objectives={"gzipped kB": "min"}
    )
    assert '"format": ",.4~f"' in found.chart().to_json()
    assert {"1,000", "3,000"} <= set(texts(found.chart()))
