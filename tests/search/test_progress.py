"""Progress of a search: a line per candidate that was tried, what is left out, and the time that is left."""

import io

import pytest
from rich.console import Console

from tfaudit.search import progress as module
from tfaudit.search.candidates import Candidate, channel_pruning
from tfaudit.search.progress import CONVERTING, TRAINING, PrintedProgress, chosen_progress
from tfaudit.search.smallest_file import NOT_TRIED


def test_lines_and_the_time_that_is_left(monkeypatch):
    at(monkeypatch, 0, 2, 10, 42, 42, 43)  # a conversion of 2 s, a training with one of 32 s
    half, most = channel_pruning(0.5, ["a"]), channel_pruning(0.9, ["a"])
    plan = [
        Candidate("int8"),
        Candidate("int8", most),
        Candidate("float16", most),
        Candidate("int8", half),
    ]
    printed = io.StringIO()
    progress = PrintedProgress(Console(file=printed, width=100))
    with progress:
        progress.begin(plan, task)
        progress.start(plan[0])
        progress.end(plan[0], "pass", 4096, "", plan[1:])
        progress.start(plan[1])
        progress.end(plan[1], NOT_TRIED, 0, "Fails before it is quantized: so.", plan[3:])
        progress.end(plan[2], NOT_TRIED, 0, "Fails before it is quantized: so.", plan[3:])
        progress.end(plan[3], "fail", 1000)
    assert printed.getvalue().splitlines() == [
        "At most 4 candidates, 2 models to fine-tune; those that cannot be smaller than one that passes are left out.",
        "[1/4] int8: pass, 4,096 bytes",  # how long a training takes is unknown yet
        "[2/4] fine-tuning int8, 90 % fewer channels",  # said when it begins, for it may take long
        "[2/4] int8, 90 % fewer channels: left out. Fails before it is quantized: so, at most about 32 s left",
        "[4/4] int8, 50 % fewer channels: fail, 1,000 bytes, made earlier",
    ]


def at(monkeypatch, *seconds):
    clock = iter(seconds)
    monkeypatch.setattr(module.time, "monotonic", lambda: float(next(clock)))


def task(candidate):
    return (
        (TRAINING, candidate.preparation.key)
        if candidate.preparation.key
        else (CONVERTING, candidate.key)
    )


@pytest.mark.parametrize(
    ("ends", "left"),
    [
        (None, ""),
        (1000.0, "at most about 16 min 38 s left"),
        (20.0, "at most about 18 s left"),
        (1.0, ""),
    ],
)
def test_where_the_time_of_a_training_is_unknown_the_budget_bounds_what_is_left(
    monkeypatch, ends, left
):
    at(monkeypatch, 0, 2)
    plan = [Candidate("int8"), Candidate("int8", aware=True)]
    printed = io.StringIO()
    progress = PrintedProgress(Console(file=printed, width=100))
    progress.begin(plan, task, ends)
    progress.start(plan[0])
    progress.end(plan[0], "fail", 4096, "", plan[1:])
    assert printed.getvalue().splitlines()[1] == ", ".join(
        filter(None, ["[1/2] int8: fail", "4,096 bytes", left])
    )


def test_only_what_may_still_be_tried_takes_time(monkeypatch):
    at(monkeypatch, 0, 2)
    plan = [
        Candidate("int8"),
        *[Candidate("int8", percentile=percentile) for percentile in (99.9, 99.99, 99.999)],
    ]
    printed = io.StringIO()
    progress = PrintedProgress(Console(file=printed, width=100))
    progress.begin(plan, task)
    progress.start(plan[0])
    progress.end(plan[0], "fail", 4096, "", plan[2:])
    assert printed.getvalue().endswith("at most about 4 s left\n")


def test_displays():
    assert type(chosen_progress(None)) is module.SearchProgress
    assert type(chosen_progress("auto")) is PrintedProgress
    display = PrintedProgress(Console(file=io.StringIO()))
    assert chosen_progress(display) is display
    with pytest.raises(
        ValueError, match="progress: got 'loud', expected 'auto', a display, or None"
    ):
        chosen_progress("loud")
