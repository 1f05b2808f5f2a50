"""What a person reads while a population is made."""

import dataclasses
import io

from rich.console import Console

from tests.builders.refusals import assert_refused
from tests.builders.tiny_studies import STUDY
from tfaudit.population.plan import ConditionJob, Event, member_jobs
from tfaudit.population.plan import MemberJob as Job
from tfaudit.population.progress import (
    LiveProgress,
    PlainProgress,
    Progress,
    RemainingTime,
    progress_for,
)
from tfaudit.store.store import Store
from tfaudit.study import Pruned, Quantized, Training
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
        progress.begin(
            **begin or {"total": 5, "jobs": [Job("dense", number) for number in range(3)]}
        )
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


def test_the_terminal_decides():
    assert isinstance(progress_for(Console(file=io.StringIO())), PlainProgress)
    assert isinstance(progress_for(Console(file=io.StringIO(), force_terminal=True)), LiveProgress)


def test_evaluations_are_counted_one_by_one():
    """A condition that is tried once more goes on where it was; what is given up is not waited for."""
    begin = {"jobs": [FOG, SNOW], "total": 100, "what": "evaluations"}
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


def test_a_live_bar_is_one_line_of_80_columns():
    console = Console(file=io.StringIO(), force_terminal=True, width=80)
    progress = LiveProgress(console)
    jobs = [
        Job(f"magnitude-0.5-treatment=one_shot-unpruned_layers=logits-{i}", 0) for i in range(9)
    ]
    progress.begin(jobs, 70, then={"evaluations": 840})
    for job in jobs:
        progress.update(Event("started", job))
    progress.update(Event("failed", jobs[0], "boom"))
    (line,) = console.render_lines(progress.bar.get_renderable())
    text = "".join(segment.text for segment in line)
    assert "61/910" in text
    assert "1 failed" in text
    assert "8 running (mag" in text


def test_the_time_left_follows_from_the_steps_of_the_jobs_and_the_workers(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("tfaudit.population.progress.time.monotonic", lambda: now[0])
    dense = [Job("dense", number, effort=1000) for number in range(2)]
    pruned = [Job("pruned", number, "dense", effort=300) for number in range(2)]
    int8 = [Job("int8", number, "dense") for number in range(4)]
    remaining = RemainingTime([*dense, *pruned, *int8])
    for job in dense:
        remaining.update(Event("started", job))
    now[0] = 1000.0
    assert remaining.seconds == 0  # nothing is known yet
    remaining.update(Event("done", dense[0]))
    assert remaining.seconds == 302  # a step a second: 600 and 4 steps, shared by two workers
    remaining.update(Event("failed", dense[1], "boom"))
    for job in pruned:
        remaining.update(Event("failed", job, "its parent failed"))
    assert remaining.seconds == 2
    converted = RemainingTime([int8[0], pruned[0]])
    converted.update(Event("started", int8[0]))
    now[0] += 60
    converted.update(Event("done", int8[0]))
    assert converted.seconds == 0  # a conversion does not tell how long a step takes


def test_checkpoints_tell_how_far_members_are_and_how_long_they_take(monkeypatch):
    """Steps that an earlier run made tell no rate."""
    now = [0.0]
    monkeypatch.setattr("tfaudit.population.progress.time.monotonic", lambda: now[0])
    jobs = [Job("dense", number, effort=1000, last_step=1000) for number in range(2)]
    console = Console(file=io.StringIO(), width=20)  # lines of a log are not broken
    progress = PlainProgress(console)
    progress.begin(jobs, 2)
    for job in jobs:
        progress.update(Event("started", job))
    story = ((100, 700, "resumed"), (200, 800, "advanced"), (300, 900, "advanced"))
    for seconds, step, kind in story:
        now[0] = float(seconds)
        progress.update(Event(kind, jobs[0], left=jobs[0].left_after(step)))
    now[0] = 400.0
    progress.update(Event("done", jobs[0]))
    assert console.file.getvalue().splitlines() == [
        "dense/000, 70 % trained",
        # A step a second: 200 and 800 of them, shared by two workers.
        "dense/000, 80 % trained, about 8 min 20 s left",
        "dense/000, 90 % trained, about 6 min 40 s left",
        "[1/2] dense/000 done, about 5 min 00 s left",
    ]
    from_scratch = RemainingTime(jobs)
    from_scratch.update(Event("started", jobs[0]))
    now[0] += 100
    from_scratch.update(Event("advanced", jobs[0], left=0.5))
    assert from_scratch.seconds == 300  # 500 steps in 100 s; 1,500 are left
    story = [
        Event("started", jobs[0]),
        Event("advanced", jobs[0], left=0.4),
        Event("started", jobs[1]),
        Event("advanced", jobs[1], left=0.4),
    ]
    live = told(LiveProgress, terminal=True, story=story, jobs=jobs, total=2)
    assert "2 running (dense/000, 60 % trained; dense/001, 60 % trained)" in live
    assert "0/2" in live
    assert "1/2" not in live


def test_jobs_know_the_steps_of_their_training(tmp_path):
    plan = Training(epochs=2, batch_size=10, validation=0.5)
    late = Pruned(0.5, begin=0.5)
    variants = Pruned(0.5), late, Quantized("int8"), Pruned(0.9, treatment="finetune")
    study = dataclasses.replace(
        STUDY, training=plan, retraining=Training(steps=7), variants=variants, fork=True
    )
    jobs = member_jobs(Store.create(tmp_path, study, {}), examples=100)
    efforts = {job.variant: job.effort for job in jobs}
    own = late.dense_steps(10)
    assert efforts == dict(zip(study.keys, (10, 10, 10 - own, 1, 7), strict=True))
    assert 0 < own < 10
    left = {job.variant: job.left_after(own) for job in jobs if job.member == 0}
    half = 1 - own / 10
    expected = (half, half, 1, None, (7 - own) / 7)
    assert left == dict(zip(study.keys, expected, strict=True))


def test_progress_is_chosen_by_word():
    assert type(Progress.chosen(None)) is Progress
    assert type(Progress.chosen("auto")) is PlainProgress  # a test has no terminal
    shown = PlainProgress(Console())
    assert Progress.chosen(shown) is shown
    assert_refused(
        "progress: got 'bar', expected 'auto', a display, or None", Progress.chosen, "bar"
    )
