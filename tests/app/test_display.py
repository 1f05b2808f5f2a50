"""What every chart of the viewer has in common."""

import importlib
import json
import re

import pyarrow as pa
import pytest

alt = pytest.importorskip("altair")
pytest.importorskip("streamlit")
from tfaudit.analysis.audits import AUDITS  # noqa: E402
from tfaudit.outlets.columns import first_columns  # noqa: E402


def draw_tooltips():
    import altair as alt
    import pandas as pd
    import streamlit as st

    from tfaudit.app.display import show_chart
    from tfaudit.charts.style import tooltips

    st.session_state["titles"] = {"": ["shirts, test split"], "int8": "fixed-point int8"}
    rows = pd.DataFrame({"change_pp": [1.0, 2.0], "p_holm": [0.0, 0.03], "title": ["a", "b"]})
    points = (
        alt.Chart(rows)
        .mark_point()
        .encode(x="change_pp:Q", tooltip=["title", *tooltips(change_pp="+.2f", p_holm=".2g")])
    )
    show_chart(alt.layer(points, points), "points-int8", "Two points. A click opens one.")


def test_tooltips_have_headings_and_no_p_of_nothing(app_test):
    app = app_test.from_function(draw_tooltips, default_timeout=60).run()
    assert not app.exception
    for layer in json.loads(app.get("vega_lite_chart")[0].proto.spec)["layer"]:
        tooltips = layer["encoding"]["tooltip"]
        assert not any("_" in tooltip["title"] for tooltip in tooltips)
        assert [tooltip["field"] for tooltip in tooltips] == [
            "title",
            "change_pp",
            "written_p_holm",
        ]
        (written,) = layer["transform"]
        assert written["as"] == "written_p_holm"
        assert "'< .0001'" in written["calculate"]


def draw_shares():
    import pandas as pd

    from tfaudit.app.display import show_table

    rows = pd.DataFrame(
        {
            "accuracy": [0.7, 0.7738],
            "difference_pp": [-0.5, 12.0],
            "negative_share": [0.0027, 0.003],
        }
    )
    show_table(rows.assign(examples=[10_000, 5], chi=[1100.0, float("nan")]), "rows")


def test_numbers_of_a_grid_have_the_texts_of_the_catalogue_and_sort_as_numbers(app_test):
    (grid,) = app_test.from_function(draw_shares, default_timeout=60).run().dataframe
    assert grid.value["accuracy"].tolist() == [0.7, 0.7738]
    texts = pa.ipc.open_stream(grid.proto.arrow_data.styler.display_values).read_pandas()
    assert texts.iloc[0].tolist() == ["70.00 %", "−0.50", "0.27 %", "10,000", "1100"]
    assert texts.iloc[1].tolist() == ["77.38 %", "+12.00", "0.30 %", "5", "–"]
    labels = {name: column.get("label") for name, column in json.loads(grid.proto.columns).items()}
    assert (labels["accuracy"], labels["negative_share"]) == ("accuracy", "newly wrong")


def draw_wide_table():
    import pandas as pd

    from tfaudit.app.display import show_table
    from tfaudit.app.url_state import start_notices

    start_notices()
    names = ["class", *(f"x{i}" for i in range(9)), "verdict", "p"]
    show_table(pd.DataFrame([range(12)], columns=names), "wide")
    show_table(pd.DataFrame([range(8)], columns=names[:8]), "narrow")


def test_a_wide_table_shows_eight_columns_with_its_verdict_until_all_are_asked_for(app_test):
    app = app_test.from_function(draw_wide_table, default_timeout=60).run()
    assert not app.exception
    (switch,) = app.toggle
    assert switch.label == "All 12 columns"
    wide, narrow = (list(table.proto.column_order) for table in app.dataframe)
    assert wide == ["class", *(f"x{i}" for i in range(6)), "verdict"]
    assert narrow == []
    assert len(app.dataframe[0].value.columns) == 12
    app = switch.set_value(True).run()
    assert [list(table.proto.column_order) for table in app.dataframe] == [[], []]
    assert app.query_params["columns"] == "all"
    assert app.toggle[0].set_value(False).run().query_params == {}


def lists_of_columns():
    for name in (
        "classes",
        "class_details",
        "compare",
        "corruptions",
        "exemplars",
        "groups",
        "overview",
    ):
        module = importlib.import_module(f"tfaudit.app.{name}")
        for constant, value in vars(module).items():
            if (
                isinstance(value, tuple)
                and len(value) > 1
                and all(isinstance(item, str) for item in value)
            ):
                yield pytest.param(value, id=f"{name}.{constant}")
    for audit in AUDITS.values():
        for name, table in audit.shown.tables.items() if audit.shown else ():
            yield pytest.param(table.columns, id=f"{audit.shown.name}.{name}")


@pytest.mark.parametrize("names", list(lists_of_columns()))
def test_an_interval_stands_whole_beside_its_estimate(names):
    """Its headings are "from" and "to"."""
    for shown in (names, first_columns(names)):
        lows = [i for i, name in enumerate(shown) if re.search(r"(^|_)low(_|$)", name) and i]
        assert [shown[i + 1] for i in lows] == [shown[i].replace("low", "high") for i in lows]
        for i in lows:
            assert shown[i - 1] not in ("verdict", "examples")
            assert not re.search(r"(^|_)(p|p_holm|p_bh)$", shown[i - 1])
