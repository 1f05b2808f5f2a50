"""Panels of one figure: all of the width that a page has, rows of equal length, one legend."""

import re

import altair as alt
import pandas as pd
import pytest

from tests.builders.drawings import texts
from tfaudit.charts.panels import in_grid
from tfaudit.charts.rendering import LARGEST, inline_svg
from tfaudit.charts.style import categories

COLOUR = categories("kind", ["old", "new"], ["#111111", "#222222"])
PANEL = alt.Chart(
    pd.DataFrame({"x": [1, 2], "kind": ["old", "new"]}), width=90, height=90
).mark_point()
PANEL = PANEL.encode(x="x:Q", y=alt.Y("x:Q", title="share"), color=COLOUR.legend(None))


@pytest.mark.parametrize(("count", "columns"), [(1, 1), (3, 3), (4, 4), (5, 3), (7, 4), (9, 3)])
def test_rows_are_as_equal_as_they_can_be(count, columns):
    assert in_grid([PANEL] * count, most=4).columns == columns


def test_panels_share_one_legend():
    assert texts(in_grid([PANEL] * 3, most=4, legend=[COLOUR])).count("old") == 1


@pytest.mark.parametrize("count", [2, 3, 7])
def test_panels_are_together_as_wide_as_the_page(count):
    """Facets kept the width that they were made with."""
    for legend in ((), (COLOUR,)):
        drawn = inline_svg(in_grid([PANEL] * count, most=4, legend=legend), "", width=860)
        whole = float(re.search(r'viewBox="0 0 ([\d.]+)', drawn)[1])
        assert 0.93 * 860 < whole <= 860
        assert LARGEST * whole > 860
