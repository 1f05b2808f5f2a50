"""What a person reads while a population is made."""

import io

from rich.console import Console

from tfaudit.population.local import Event, Job
from tfaudit.population.progress import LiveProgress, PlainProgress, progress_for

STORY = [
    Event("started", Job("dense", 0)),
    Event("started", Job("dense", 1)),
    Event("done", Job("dense", 0)),
    Event("retried", Job("dense", 1), "Traceback\n  [not markup]\nRuntimeError: [boom]"),
    Event("started", Job("dense", 1)),
    Event("failed", Job("dense", 1), "Traceback\nRuntimeError: [boom]"),
]


def told(make, terminal):
    console = Console(file=io.StringIO(), force_terminal=terminal, width=120)
    with make(console) as progress:
        progress.begin(total=5, already=2)
        for event in STORY:
            progress.take(event)
    return console.file.getvalue()


def test_plain_lines_without_a_terminal():
    text = told(PlainProgress, terminal=False)
    assert "2 of 5 members are there already" in text
    assert "[3/5] dense/000 done, about" in text
    assert "member dense/001 failed, trying once more: RuntimeError: [boom]" in text
    assert "member dense/001 failed: RuntimeError: [boom]" in text
    assert "\x1b" not in text


def test_a_live_bar_in_a_terminal_counts_running_failed_and_time_left():
    text = told(LiveProgress, terminal=True)
    assert "3/5" in text
    assert "1 running (dense/001)" in text
    assert "1 failed" in text
    assert "left" in text


def test_the_terminal_decides():
    assert isinstance(progress_for(Console(file=io.StringIO())), PlainProgress)
    assert isinstance(progress_for(Console(file=io.StringIO(), force_terminal=True)), LiveProgress)
