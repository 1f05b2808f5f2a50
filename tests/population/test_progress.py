"""What a person reads while a population is made."""

import io

from rich.console import Console

from tests.builders.refusals import assert_refused
from tfaudit.population.plan import ConditionJob, Event
from tfaudit.population.plan import MemberJob as Job
from tfaudit.population.progress import (
    LiveProgress,
    PlainProgress,
    Progress,
    progress_for,
)
from tfaudit.study.conditions import Condition

STORY = [
    Event("started", Job("dense", 0)),
    Event("started", Job("dense", 1)),
    Event("done", Job("dense", 0)),
    Event("retried", Job("dense", 1), "Traceback\n  [not markup]\nRuntimeError: [boom]"),
    Event("started", Job("dense", 1)),
    Event("failed", Job("dense", 1), "Traceback\nRuntimeError: [boom]"),
]

FOG, SNOW = ConditionJob(Condition("fog", 3), 40), ConditionJob(Condition("snow", 1), 30)
EVALUATIONS = [
    Event("started", FOG),
    *(Event("advanced", FOG, left=40 - made) for made in range(1, 13)),
    Event("retried", FOG, "Traceback\nthe worker process died"),
    Event("started", SNOW),
    Event("advanced", SNOW, left=29),
    Event("started", FOG),
    Event("done", FOG),
    Event("failed", SNOW, "Traceback\nRuntimeError: boom"),
]


def told(make, terminal, story=STORY, **begin):
    console = Console(file=io.StringIO(), force_terminal=terminal, width=120)
    with make(console) as progress:
        progress.begin(**begin or {"total": 5, "already": 2})
        for event in story:
            progress.update(event)
    return console.file.getvalue()


def test_plain_lines_without_a_terminal():
    text = told(PlainProgress, terminal=False)
    for words in (
        "2 of 5 members exist already",
        "[3/5] dense/000 done, about",
        "member dense/001 failed, trying again: RuntimeError: [boom]",
        "member dense/001 failed: RuntimeError: [boom]",
    ):
        assert words in text
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


def test_evaluations_are_counted_one_by_one():
    """A condition that is tried once more goes on where it was; what is given up is not waited for."""
    begin = {"total": 100, "already": 30, "what": "evaluations"}
    plain = told(PlainProgress, terminal=False, story=EVALUATIONS, **begin)
    assert "30 of 100 evaluations exist already" in plain
    assert "condition fog 3 failed, trying again: the worker process died" in plain
    assert "[71/100] fog 3 done, about" in plain
    assert "condition snow 1 failed: RuntimeError: boom" in plain
    live = told(LiveProgress, terminal=True, story=EVALUATIONS[:13], **begin)
    assert "evaluations" in live
    assert "1 running (fog 3, 12 of 40)" in live
    assert "42/100" in live
    ended = told(LiveProgress, terminal=True, story=EVALUATIONS, **begin)
    assert "left" in ended
    assert "left" not in ended.splitlines()[-1]


def test_members_and_then_evaluations():
    console = Console(file=io.StringIO())
    progress = PlainProgress(console)
    progress.begin(1, 0)
    progress.update(Event("failed", Job("dense", 0), "boom"))
    progress.begin(40, 0, what="evaluations")
    progress.update(Event("done", FOG))
    assert console.file.getvalue().splitlines()[-1] == "[40/40] fog 3 done"


def test_progress_is_chosen_by_word():
    assert type(Progress.chosen(None)) is Progress
    assert type(Progress.chosen("auto")) is PlainProgress  # a test has no terminal
    shown = PlainProgress(Console())
    assert Progress.chosen(shown) is shown
    assert_refused(
        "progress: got 'bar', expected 'auto', a display, or None", Progress.chosen, "bar"
    )
