"""What a section leaves out, folds, and gives the width of the page."""

import altair as alt
import pandas as pd

from tfaudit.charts.panels import in_grid
from tfaudit.outlets.grid import Grid
from tfaudit.outlets.sections.section import Figure, Section

CHART = alt.Chart(pd.DataFrame({"x": [1]})).mark_point().encode(x="x:Q")


def test_columns_of_which_nothing_is_known_are_left_out():
    rows = pd.DataFrame(
        {"class": ["a", "b"], "p": [None, None], "examples": [4, None], "verdict": [None, "lost"]}
    )
    headings = [column.heading for column in Grid.of("t", rows).columns]
    assert headings == ["class", "images", "verdict"]
    assert len(Grid.of("t", rows.head(0)).columns) == 4


def test_a_figure_of_many_panels_or_without_a_neighbour_has_the_page_to_itself():
    one, other = (Figure(name, CHART, "") for name in "ab")
    panels = Figure("c", in_grid([CHART] * 3, most=4), "")
    for figures, filling in (
        ((one,), "a"),
        ((one, other), ""),
        ((one, panels), "ac"),
        ((one, other, panels), "c"),
    ):
        section = Section("key", "title", "question", "", figures)
        assert "".join(figure.name for figure in figures if section.fills_page(figure)) == filling


def test_figures_fold_with_their_neighbours():
    """One alone in its fold has the width to itself, whatever stands in other folds."""
    folds = {"a": "", "b": "", "c": "float16", "d": "int8", "e": "int8"}
    figures = tuple(Figure(name, CHART, "", folded=folded) for name, folded in folds.items())
    section = Section("key", "title", "question", "", figures)
    assert [(folded, [figure.name for figure in run]) for folded, run in section.panels] == [
        ("", ["a", "b"]),
        ("float16", ["c"]),
        ("int8", ["d", "e"]),
    ]
    assert [figure.name for figure in figures if section.fills_page(figure)] == ["c"]


def test_a_short_section_shows_the_chart_of_one_variant_and_folds_the_rest():
    table = Grid.of("t", pd.DataFrame({"class": ["a"]}))
    figures = tuple(Figure(name, CHART, "", variant=name) for name in ("int8", "float16", "4 bit"))
    section = Section("key", "title", "question", "", figures, (table,))
    short = section.short("float16")
    shown = [(label, [figure.name for figure in run]) for label, run in short.panels]
    assert shown == [("", ["float16"]), ("2 more charts", ["int8", "4 bit"])]
    assert short.tables[0].folded
    assert not Section("key", "t", "q", "", tables=(table,)).short("").tables[0].folded
