"""What every chart of the viewer has in common."""

import importlib
import json
import re

import pandas as pd
import pyarrow as pa
import pytest

alt = pytest.importorskip("altair")
pytest.importorskip("streamlit")
from tfaudit.analysis.audits import AUDITS  # noqa: E402
from tfaudit.app.display import PADDING, WIDE, Specified  # noqa: E402
from tfaudit.charts.rendering import FIT  # noqa: E402
from tfaudit.outlets.columns import first_columns  # noqa: E402


def draw_shapes():
    import altair as alt
    import pandas as pd

    from tfaudit.app.display import show_chart

    points = alt.Chart(pd.DataFrame({"x": [1, 2], "kind": ["a", "b"]})).mark_point(filled=True)
    show_chart(points.encode(x="x:Q", shape="kind:N"), "shapes", "Two points.")


def test_text_and_legends_of_shapes_take_the_ink_of_the_theme(app_test):
    app = app_test.from_function(draw_shapes, default_timeout=60).run()
    assert not app.exception
    config = json.loads(app.get("vega_lite_chart")[0].proto.spec)["config"]
    ink = config["text"]["color"]
    assert config["legend"] == {"symbolBaseFillColor": ink, "symbolBaseStrokeColor": ink}


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


@pytest.mark.slow
def test_a_downloaded_chart_says_what_it_is_of(monkeypatch, app_test):
    files = []
    monkeypatch.setattr(
        "tfaudit.app.display._download",
        lambda name, form, content, meaning: files.append(content()),
    )
    assert not app_test.from_function(draw_tooltips, default_timeout=60).run().exception
    svg = files[1].decode()
    for words in ("Two points", "shirts, test split", "fixed-point int8"):
        assert words in svg
    assert "click" not in svg


def draw_corruptions():
    import altair as alt
    import pandas as pd

    from tfaudit.app.display import show_chart, show_table

    rows = pd.DataFrame({"corruption": ["gaussian_noise", None], "change_pp": [1.0, 2.0]})
    show_chart(
        alt.Chart(rows).mark_point().encode(x="change_pp:Q", tooltip=["corruption"]),
        "points",
        "Two points.",
    )
    show_table(rows, "rows")


def test_names_of_corruptions_are_words_in_tooltips_and_tables(app_test):
    app = app_test.from_function(draw_corruptions, default_timeout=60).run()
    assert not app.exception
    assert app.dataframe[0].value["corruption"].iloc[0] == "gaussian noise"
    (tooltip,) = json.loads(app.get("vega_lite_chart")[0].proto.spec)["encoding"]["tooltip"]
    assert (tooltip["title"], tooltip["field"]) == ("corruption", "written_corruption")


def draw_grid():
    import pandas as pd

    from tfaudit.app.display import show_table

    rows = pd.DataFrame(
        {"p_holm": [0.0, 0.03, None], "bytes": [285_400.0, 15_700.0, None], "t": [1.0, -2.0, None]}
    )
    show_table(rows.assign(chi=[1100.0, 2.5, 3.0]), "rows")


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


def test_a_grid_writes_numbers_as_the_catalogue_does(app_test, monkeypatch):
    """A p is never 0 and sorts as a number does, bytes are kB as in charts, and 1,100 is not 1.1e+03."""
    monkeypatch.setattr("tfaudit.app.display.STYLED", 0)
    (grid,) = app_test.from_function(draw_grid, default_timeout=60).run().dataframe
    assert grid.value["p_holm"].tolist()[:2] == [" < .0001", "0.0300"]
    assert pd.isna(grid.value["p_holm"][2])
    assert sorted(grid.value["p_holm"][:2]) == grid.value["p_holm"].tolist()[:2]
    assert grid.value["bytes"].tolist()[:2] == pytest.approx([285.4, 15.7])
    shown = json.loads(grid.proto.columns)
    assert shown["bytes"]["label"] == "size, kB"
    assert shown["chi"]["type_config"]["format"] == "%,.0f"
    assert shown["t"]["type_config"]["format"] == "%+.2f"


@pytest.mark.parametrize(("rows", "canvas"), [(600, True), (9, False)])
@pytest.mark.parametrize("form", ["unit", "layers", "nested layers"])
def test_streamlit_takes_the_specification_that_altair_writes(form, rows, canvas):
    unit = alt.Chart(pd.DataFrame({"x": range(rows), "y": 1})).mark_bar().encode(x="x:Q", y="y:Q")
    layers = alt.layer(unit, unit.mark_rule())
    chart = {
        "unit": unit,
        "layers": layers,
        "nested layers": alt.layer(layers, unit.mark_tick()),
    }[form]
    config = alt.Config(text=alt.MarkConfig(color="red"))
    with alt.theme.enable("none"):
        written = Specified(chart, config, {"point": ["x"]}).to_dict()
        expected = chart.properties(
            width=WIDE, autosize=FIT, padding=PADDING, config=config
        ).to_dict()
    assert written.pop("usermeta", {}) == (
        {"embedOptions": {"renderer": "canvas"}} if canvas else {}
    )
    first = written
    while "mark" not in first:
        first = first["layer"][0]
    select = {"type": "point", "fields": ["x"], "on": "click", "clear": False}
    assert first.pop("params") == [{"name": "point", "select": select}]
    assert written == expected


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


def draw_many_cells():
    import pandas as pd

    from tfaudit.app.display import STYLED, show_table

    show_table(pd.DataFrame({"recall_before": [0.7, 0.7293] * STYLED}), "many")


def test_shares_of_a_table_too_large_for_texts_have_one_number_of_decimals(app_test):
    app = app_test.from_function(draw_many_cells, default_timeout=60).run()
    assert not app.exception
    settings = json.loads(app.dataframe[0].proto.columns)["recall_before"]
    assert settings["type_config"]["format"] == "%.1f %%"
    assert app.dataframe[0].value["recall_before"].tolist()[:2] == pytest.approx([70, 72.93])


def lists_of_columns():
    for name in (
        "classes",
        "class_details",
        "compare",
        "corruptions",
        "distortion",
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
