"""Progress of a search: a line per candidate that was tried, what is left out, and the time that is left."""

import io

import pytest
from rich.console import Console

from tfaudit.shipping import progress as module
from tfaudit.shipping.candidates import Candidate, channel_pruning
from tfaudit.shipping.progress import PrintedProgress, chosen_progress
from tfaudit.shipping.smallest_file import NOT_TRIED


def test_lines_and_the_time_that_is_left(monkeypatch):
    clock = iter([0.0, 2.0, 10.0, 42.0])  # a conversion of 2 s, a training with one of 32 s
    monkeypatch.setattr(module.time, "monotonic", lambda: next(clock))
    half, most = channel_pruning(0.5, ["a"]), channel_pruning(0.9, ["a"])
    plan = [Candidate("int8"), Candidate("int8", most), Candidate("float16", most), Candidate("int8", half)]
    printed = io.StringIO()
    progress = PrintedProgress(Console(file=printed, width=100))
    with progress:
        progress.begin(plan, lambda pruned: False)
        progress.start(plan[0], training=False)
        progress.end(plan[0], "pass", 4096)
        progress.start(plan[1], training=True)
        progress.end(plan[1], NOT_TRIED, 0, "Fails before it is quantized: so.")
        progress.end(plan[2], NOT_TRIED, 0, "Fails before it is quantized: so.")
        progress.end(plan[3], "fail", 1000)
    assert printed.getvalue().splitlines() == [
        "4 candidates, 2 models to prune and fine-tune; those larger than one that passes are left out.",
        "[1/4] int8: pass, 4,096 bytes",  # how long a training takes is unknown yet
        "[2/4] int8, 90 % fewer channels: left out. Fails before it is quantized: so, at most about 34 s left",
        "[4/4] int8, 50 % fewer channels: fail, 1,000 bytes, made earlier",
    ]


def test_displays():
    assert type(chosen_progress(None)) is module.SearchProgress
    assert type(chosen_progress("auto")) is PrintedProgress
    display = PrintedProgress(Console(file=io.StringIO()))
    assert chosen_progress(display) is display
    with pytest.raises(ValueError, match="progress: got 'loud', expected 'auto', a display, or None"):
        chosen_progress("loud")
