"""Names and paths are printed as they are, whatever they contain."""

import io

import pytest
from rich.table import Table
from rich.text import Text

from tfaudit.cli.console import PlainConsole


@pytest.mark.parametrize(
    "name", ["[x]", "a[/y]", "[red]b", ":cat:", "\x1b]0;title\x1b", "\x1b[31mred"]
)
def test_what_looks_like_markup_or_controls_a_terminal_is_text(name):
    shown = "".join(letter if letter.isprintable() else "?" for letter in name)
    console = PlainConsole(file=io.StringIO(), width=60, force_terminal=True)
    table = Table(title=name)
    table.add_column(name, min_width=30)
    table.add_row(Text(name))
    for thing in (name, Text(name, "bold"), table):
        console.print(thing)
    printed = console.file.getvalue()
    assert printed.count(shown) >= 4  # a title may be wrapped
    assert name not in printed or name == shown
