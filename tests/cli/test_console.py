"""Names and paths are printed as they are, whatever they contain."""

import io

import pytest
from rich.table import Table
from rich.text import Text

from tests.builders.studies import make_study
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


@pytest.mark.slow
def test_a_report_and_its_charts_can_be_written_to_paths_that_look_like_markup(
    tmp_path, monkeypatch, tfaudit
):
    make_study(tmp_path / "study")
    draw = "tfaudit.outlets.chart_files.chart_files"
    monkeypatch.setattr(draw, lambda chart, forms, **_: dict.fromkeys(forms, b"<svg/>"))
    monkeypatch.setattr("tfaudit.charts.rendering.inline_svg", lambda *_, **__: "<svg></svg>")
    assert tfaudit("report", "study", "--charts", "x[/y]", "--out", "[red].html")[0] == 0
    assert list((tmp_path / "x[/y]").glob("*.svg"))
    assert (tmp_path / "[red].html").read_text().startswith("<!DOCTYPE html>")
    assert not (tmp_path / "study/report.html").exists()
