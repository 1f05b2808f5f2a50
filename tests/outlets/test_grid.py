"""One table in a terminal, in a page and in Markdown."""

import io

import pytest
from rich.console import Console

from tfaudit.outlets.columns import Cell
from tfaudit.outlets.grid import Grid
from tfaudit.outlets.outcome_marks import MARKS

NAMES = ("<b>cat|", "a name of some length, in which words wrap")
GRID = Grid.of_rows(
    ["class", "verdict", "recall", "lost"],
    [[name, MARKS["fail"], "90.0", Cell("1.2", below="0.5 to 1.9")] for name in NAMES],
    words=2,
    chosen=[1],
)


def in_terminal(width):
    console = Console(width=width, file=io.StringIO())
    console.print(GRID.in_terminal(least=8))
    return console.file.getvalue()


@pytest.mark.parametrize("width", [44, 80])
def test_a_narrow_terminal_wraps_names_and_cuts_no_figure(width):
    text = in_terminal(width)
    assert max(map(len, text.splitlines())) <= width
    assert text.count("1.2 (0.5 to 1.9)") == 2
    assert "…" not in text
    assert "*" in text


def test_markdown_and_page_escape_names_and_mark_what_is_chosen():
    first, second = GRID.markdown()[2:]
    assert first == "| &lt;b>cat\\| | ❌ FAIL | 90.0 | 1.2 (0.5 to 1.9) |"
    assert second.startswith(f"| **{NAMES[1]}** |")
    page = GRID.html()
    assert "&lt;b&gt;cat" in page
    for cell in ("✗ FAIL", "90.0", "1.2 (0.5 to 1.9)"):
        assert page.count(f"{cell}</td>") == page.count('<th scope="row">') == 2
