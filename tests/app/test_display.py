"""What every chart of the viewer has in common."""

import json


def draw_shapes():
    import altair as alt
    import pandas as pd

    from tfaudit.app.display import show_chart

    points = alt.Chart(pd.DataFrame({"x": [1, 2], "kind": ["a", "b"]})).mark_point(filled=True)
    show_chart(points.encode(x="x:Q", shape="kind:N"), "shapes", "Two points.")


def test_text_and_legends_of_shapes_take_the_ink_of_the_theme(app_test):
    app = app_test.from_function(draw_shapes).run()
    assert not app.exception
    config = json.loads(app.get("vega_lite_chart")[0].proto.spec)["config"]
    ink = config["text"]["color"]
    assert config["legend"] == {"symbolBaseFillColor": ink, "symbolBaseStrokeColor": ink}
