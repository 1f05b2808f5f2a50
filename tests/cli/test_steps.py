"""The bar of a command's steps: one line, which counts all of them."""

import io

from rich.console import Console

from tfaudit.cli import steps as module
from tfaudit.cli.steps import Steps


def test_the_bar_says_what_is_done_of_how_much(monkeypatch):
    console = Console(file=io.StringIO(), force_terminal=True, width=80)
    monkeypatch.setattr(module, "err", console)

    def line():
        (cells,) = console.render_lines(steps._bar.get_renderable())
        return "".join(cell.text for cell in cells)

    steps = Steps()
    with steps:
        steps.plan(3)
        steps.begin("Reading the models and a/long/path/of/images/in/folders/of/many/words")
        assert "0/3 0:00:00 Reading the models and a/long/path" in line()
        steps.begin("Predicting with int8.tflite")
        steps.advance(0.5)
        steps.plan(1)
        assert "Predicting with int8.tflite" in line()
        assert "1/4" in line()
    assert not console.file.getvalue().endswith("\n")  # the bar has disappeared
