"""What every engine promises: plan, retries, deaths, timeouts; with workers that need no TensorFlow.

The test of an engine subclasses `EveryEngine` and has a fixture `run_jobs`.
"""

import contextlib
import json
from collections import Counter

import psutil
import pytest

from tests.builders.refusals import assert_refused
from tests.builders.tiny_studies import is_gone, wait_for
from tfaudit.population.plan import MemberJob as Job


def made(tmp_path):
    return [tuple(json.loads(line)) for line in (tmp_path / "made").read_text().splitlines()]


def told(events):
    return [(event.kind, event.job.variant, event.job.member) for event in events]


class EveryEngine:
    def test_every_member_is_made_once_and_parents_come_first(self, run_jobs, tmp_path):
        jobs = [
            Job(v, m, p)
            for m in range(4)
            for v, p in (("child", "dense"), ("dense", None), ("pruned", None))
        ]
        seen = told(run_jobs(jobs, workers=2))
        assert sorted(row[:2] for row in made(tmp_path)) == sorted(
            (job.variant, job.member) for job in jobs
        )
        for member in range(4):
            assert seen.index(("done", "dense", member)) < seen.index(("started", "child", member))
        assert [seen.count(("started", job.variant, job.member)) for job in jobs] == [1] * 12

    @pytest.mark.slow
    def test_a_failure_a_death_and_a_hung_worker_are_tried_again(self, run_jobs, tmp_path):
        seen = told(
            run_jobs([Job(v, 0) for v in ("shaky", "mortal", "hangs once", "dense")], timeout=4)
        )
        for variant in ("shaky", "mortal", "hangs once"):
            assert seen.count(("retried", variant, 0)) == 1
        done = {variant for kind, variant, _ in seen if kind == "done"}
        assert done == {"shaky", "mortal", "hangs once", "dense"}
        (hung,) = tmp_path.glob("hung-*")
        assert not psutil.pid_exists(int(hung.name[5:])), "the hung worker still runs"

    @pytest.mark.slow
    def test_a_member_whose_workers_die_goes_on_from_its_last_checkpoint(
        self, run_jobs, fake_store
    ):
        seen = told(run_jobs([Job("lasting", 0, effort=4, last_step=4)], retries=3))
        assert seen.count(("retried", "lasting", 0)) == 3
        assert seen.count(("advanced", "lasting", 0)) == 3
        assert seen.count(("resumed", "lasting", 0)) == 3
        assert seen[-1] == ("done", "lasting", 0)
        (fake_store.directory / "members/lasting/000/checkpoint").unlink(missing_ok=True)

    @pytest.mark.parametrize(
        ("variant", "words"),
        [
            ("broken", "RuntimeError: boom"),
            ("deadly", "died; its log is"),
            pytest.param("hung", "longer than the timeout of 4 s", marks=pytest.mark.slow),
        ],
    )
    def test_what_fails_for_good_is_given_up_with_its_children_while_others_go_on(
        self, run_jobs, variant, words
    ):
        children = Job("child", 0, variant), Job("grandchild", 0, "child")
        jobs = [Job(variant, 0), *children, Job("dense", 0)]
        seen = list(run_jobs(jobs, workers=1, retries=1, timeout=4 if variant == "hung" else None))
        failed = {event.job.variant: event.error for event in seen if event.kind == "failed"}
        assert set(failed) == {variant, "child", "grandchild"}
        assert words in failed[variant]
        assert failed["grandchild"] == "its parent, child/000, failed"
        kinds = [event.kind for event in seen if event.job.variant == variant]
        assert kinds == ["started", "retried", "started", "failed"]
        assert told(seen)[-1] == ("done", "dense", 0)

    def test_what_would_fail_again_is_given_up_at_once(self, run_jobs):
        seen = list(
            run_jobs([Job("wrong", 0), Job("child", 0, "wrong"), Job("dense", 0)], workers=1)
        )
        assert [event.kind for event in seen if event.job.variant == "wrong"] == [
            "started",
            "failed",
        ]
        failed = {event.job.variant: event.error for event in seen if event.kind == "failed"}
        assert failed == {
            "wrong": "Traceback\nValueError: boom",
            "child": "its parent, wrong/000, failed",
        }
        assert told(seen)[-1] == ("done", "dense", 0)

    def test_a_fatal_answer_ends_the_run_in_one_line(self, run_jobs, tmp_path):
        assert_refused(
            r"directory: got a full disk.*, expected space",
            list,
            run_jobs([Job("fatal", 0), *(Job("dense", member) for member in range(50))]),
        )
        wait_for(lambda: all(is_gone(row[2]) for row in made(tmp_path)), 60)

    def test_workers_are_replaced_after_some_jobs(self, run_jobs, tmp_path):
        list(run_jobs([Job("dense", member) for member in range(8)], workers=1, jobs_per_worker=3))
        jobs_of_workers = Counter(row[2] for row in made(tmp_path))
        # Ray may share 8 jobs among 4 processes; local: test_local.py
        assert 1 < max(jobs_of_workers.values()) <= 3
        assert {row[4] for row in made(tmp_path)} == {"1"}

    def test_a_run_that_is_left_early_ends_its_jobs(self, run_jobs, tmp_path):
        with contextlib.closing(run_jobs([Job("hung", member) for member in range(9)])) as running:
            assert next(running).kind == "started"
            wait_for(lambda: list(tmp_path.glob("hung-*")))
            busy = [int(file.name[5:]) for file in tmp_path.glob("hung-*")]
        wait_for(lambda: all(map(is_gone, busy)), 60)

    def test_machines_are_told(self, run_jobs):
        assert [event.machine for event in run_jobs([Job("dense", 0)]) if event.kind == "done"] == [
            {"cpu": "made up", "gpus": []}
        ]
