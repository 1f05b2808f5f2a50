"""What a section leaves out, folds, and gives the width of the page."""

import altair as alt
import pandas as pd

from tfaudit.outlets.grid import Grid
from tfaudit.outlets.sections.section import Figure, Section

CHART = alt.Chart(pd.DataFrame({"x": [1]})).mark_point().encode(x="x:Q")


def test_columns_of_which_nothing_is_known_are_left_out():
    rows = pd.DataFrame(
        {"class": ["a", "b"], "p": [None, None], "examples": [4, None], "verdict": [None, "lost"]}
    )
    headings = [column.heading for column in Grid.of("t", rows).columns]
    assert headings == ["class", "examples", "verdict"]
    assert len(Grid.of("t", rows.head(0)).columns) == 4


def test_a_short_section_shows_the_chart_of_one_variant_and_folds_the_rest():
    table = Grid.of("t", pd.DataFrame({"class": ["a"]}))
    figures = tuple(Figure(name, CHART, "", variant=name) for name in ("int8", "float16", "4 bit"))
    section = Section("key", "title", "question", "", figures, (table,))
    short = section.short("float16")
    shown = [(label, [figure.name for figure in run]) for label, run in short.panels]
    assert shown == [("", ["float16"]), ("2 more charts", ["int8", "4 bit"])]
    assert short.tables[0].folded
    assert not Section("key", "t", "q", "", tables=(table,)).short("").tables[0].folded
