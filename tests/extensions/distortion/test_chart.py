"""The chart of balances holds every class of every member, and the line of the pooled slope."""

from tests.builders.populations import population
from tfaudit.charts.rendering import inline_svg
from tfaudit.charts.style import BLUE
from tfaudit.extensions.distortion.recall_distortion import distortion


def test_every_class_of_every_member_is_a_point_and_the_line_has_the_pooled_slope():
    found = distortion(population(1), population(2, hurt=[3]))
    chart = found.chart()
    assert inline_svg(chart, "").count(f'fill="{BLUE}"') == 30
    lines = [rows for rows in chart.to_dict()["datasets"].values() if len(rows) == 2]
    slopes = {round((end["y"] - start["y"]) / (end["x"] - start["x"]), 9) for start, end in lines}
    assert slopes == {1.0, round(found.pooled_slope, 9)}
    said = f"slope {found.pooled_slope:.2f}, r² {found.pooled_r2:.2f}"
    assert said in inline_svg(chart, "")
