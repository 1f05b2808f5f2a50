"""The engine's plan, retries and deaths, with workers that need no TensorFlow."""

import contextlib
import errno
import sys
import tempfile
import time
from pathlib import Path

import psutil
import pytest

from tfaudit import InputError
from tfaudit.population import local, worker
from tfaudit.population.local import run_jobs
from tfaudit.population.plan import ConditionJob
from tfaudit.population.plan import MemberJob as Job
from tfaudit.study.conditions import Condition


@pytest.fixture(autouse=True)
def fake_workers(monkeypatch):
    monkeypatch.setattr(local, "COMMAND", (sys.executable, str(Path(__file__).with_name("fake_worker.py"))))


def events(directory, jobs, workers=2):
    return [(e.kind, e.job.variant, e.job.member) for e in run_jobs(directory, jobs, workers)]


def test_every_member_is_made_once_and_parents_come_first(tmp_path):
    jobs = [Job(v, m, p) for m in range(4) for v, p in (("int8", "dense"), ("dense", None), ("pruned", None))]
    seen = events(tmp_path, jobs, workers=3)
    made = (tmp_path / "made").read_text().splitlines()
    assert sorted(made) == sorted(f"{job.variant} {job.member}" for job in jobs)
    for member in range(4):
        assert seen.index(("done", "dense", member)) < seen.index(("started", "int8", member))


def test_a_parent_that_is_there_already_does_not_hold_its_children_back(tmp_path):
    assert events(tmp_path, [Job("int8", 0, "dense")]) == [("started", "int8", 0), ("done", "int8", 0)]


@pytest.mark.parametrize("variant", ["shaky", "mortal"])
def test_a_failure_or_a_death_is_tried_once_more(tmp_path, variant):
    seen = events(tmp_path, [Job(variant, 0), Job("dense", 0)])
    assert ("retried", variant, 0) in seen
    assert ("done", variant, 0) in seen
    assert ("done", "dense", 0) in seen


@pytest.mark.parametrize(("variant", "words"), [("broken", "RuntimeError: boom"), ("deadly", "worker process died")])
def test_what_fails_twice_is_given_up_with_its_children_while_others_go_on(tmp_path, variant, words):
    jobs = [Job(variant, 0), Job("child", 0, variant), Job("dense", 0), Job("dense", 1)]
    seen = list(run_jobs(tmp_path, jobs, 1))
    failed = {(e.job.variant, e.job.member): e.error for e in seen if e.kind == "failed"}
    assert set(failed) == {(variant, 0), ("child", 0)}
    assert words in failed[variant, 0]
    assert "parent" in failed["child", 0]
    assert [(e.job.variant, e.job.member) for e in seen if e.kind == "done"] == [("dense", 0), ("dense", 1)]


def test_a_fatal_answer_ends_the_run_in_one_line_and_leaves_no_process(tmp_path):
    with pytest.raises(InputError, match="directory: got a full disk, expected space"):
        events(tmp_path, [Job("fatal", 0), *(Job("dense", m) for m in range(50))])
    assert not psutil.Process().children()


def test_a_run_that_is_left_early_leaves_no_process(tmp_path):
    with contextlib.closing(run_jobs(tmp_path, [Job("dense", m) for m in range(9)], 2)) as running:
        next(running)
        assert psutil.Process().children()
    assert not psutil.Process().children()


@pytest.mark.slow
def test_a_worker_that_dies_while_it_is_idle_is_replaced(tmp_path):
    jobs = [Job("dense", 0), Job("slow", 0), Job("late", 0, "slow")]
    seen = []
    with contextlib.closing(run_jobs(tmp_path, jobs, 2)) as running:
        for event in running:
            seen.append((event.kind, event.job.variant))
            if seen[-1] == ("done", "dense"):  # its worker has nothing to do until "slow" is made
                while not list(tmp_path.glob("busy-*")):
                    time.sleep(0.01)
                for worker in psutil.Process().children():
                    if not (tmp_path / f"busy-{worker.pid}").exists():
                        worker.kill()
    assert seen[-1] == ("done", "late")
    assert "failed" not in dict(seen)
    assert "retried" not in dict(seen)


def test_the_steps_of_a_condition_are_told_one_by_one(tmp_path):
    """All of them come at once with the last word, and none is lost."""
    job = ConditionJob(Condition("fog", 3), 3)
    seen = [(event.kind, event.left) for event in run_jobs(tmp_path, [job, Job("dense", 0)], 1) if event.job is job]
    assert seen == [("started", 0), ("advanced", 2), ("advanced", 1), ("advanced", 0), ("done", 0)]


def test_no_more_workers_than_members(tmp_path):
    with contextlib.closing(run_jobs(tmp_path, [Job("dense", 0)], 8)) as running:
        next(running)
        assert len(psutil.Process().children()) == 1


def test_temporary_files_of_workers_are_removed_at_the_end_and_after_a_kill_by_the_next_run(tmp_path, monkeypatch):
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    running = run_jobs(tmp_path, [Job("dense", m) for m in range(3)], 1)
    while next(running).kind != "done":
        pass
    (scratch,) = place.iterdir()
    assert list(scratch.glob("__autograph*"))
    (scratch / "left by a run that was killed").touch()
    with contextlib.closing(run_jobs(tmp_path, [Job("dense", 9)], 1)) as again:
        next(again)
        assert not (scratch / "left by a run that was killed").exists()
    running.close()
    assert not list(place.iterdir())


def test_a_full_temporary_folder_is_not_blamed_on_the_study(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "scratch"))
    problem = OSError(errno.ENOSPC, "No space left on device", str(tmp_path / "scratch/__autograph.py"))
    argument, got, _ = worker.fatal_problem(problem, "/study")
    assert argument == "temporary folder"
    assert got == f"{tmp_path}/scratch, which cannot be written (No space left on device)"
    problem.filename = "/study/members/x"
    assert worker.fatal_problem(problem, "/study")[0] == "directory"
