"""The local engine's processes, with workers that need no TensorFlow; what all engines promise."""

import contextlib
import errno
import json
import os
import platform
import tempfile
import time
from pathlib import Path

import psutil
import pytest

from tests.builders.engine_contract import EveryEngine
from tests.builders.refusals import assert_refused
from tfaudit.population import worker
from tfaudit.population.engine_options import EngineOptions
from tfaudit.population.local import gpus_of_workers
from tfaudit.population.logs import open_log
from tfaudit.population.machine import visible_gpus
from tfaudit.population.plan import ConditionJob
from tfaudit.population.plan import MemberJob as Job
from tfaudit.study.conditions import Condition


class TestLocal(EveryEngine):
    @pytest.fixture
    def run_jobs(self, run_locally):
        return run_locally


def processes():
    return [
        process
        for process in psutil.Process().children()
        if any("fake_worker" in a for a in process.cmdline())
    ]


def test_a_parent_that_is_there_already_does_not_hold_its_children_back(run_locally):
    assert [event.kind for event in run_locally([Job("int8", 0, "dense")])] == ["started", "done"]


def test_a_worker_is_replaced_once_it_has_made_its_jobs(run_locally, tmp_path):
    list(run_locally([Job("dense", member) for member in range(8)], workers=1, jobs_per_worker=3))
    workers = [json.loads(line)[2] for line in (tmp_path / "made").read_text().splitlines()]
    assert len(set(workers)) == 3


@pytest.mark.parametrize("name", ["logs", "logs/dense-000.log"])
@pytest.mark.parametrize("exists", [True, False])
def test_logs_follow_no_link(tmp_path, tmp_path_factory, name, exists):
    elsewhere, log = tmp_path_factory.mktemp("elsewhere") / "place", tmp_path / "logs/dense-000.log"
    (tmp_path / name).parent.mkdir(exist_ok=True)
    if exists:
        elsewhere.mkdir() if name == "logs" else elsewhere.touch()
    (tmp_path / name).symlink_to(elsewhere)
    assert_refused(r"logs: got [^\n]*, which is a link, expected", open_log, log)
    with worker._printing_to(log):  # a job goes on without its log
        os.write(2, b"printed")
    assert elsewhere.exists() == exists
    assert not (
        elsewhere.stat().st_size
        if exists and elsewhere.is_file()
        else exists and list(elsewhere.iterdir())
    )


@pytest.mark.slow
def test_a_worker_that_dies_while_it_is_idle_is_replaced(run_locally, tmp_path):
    jobs = [Job("dense", 0), Job("slow", 0), Job("late", 0, "slow")]
    seen = []
    with contextlib.closing(run_locally(jobs, 2)) as running:
        for event in running:
            seen.append((event.kind, event.job.variant))
            if seen[-1] == ("done", "dense"):  # its worker has nothing to do until "slow" is made
                while not list(tmp_path.glob("busy-*")):
                    time.sleep(0.01)
                for worker in processes():
                    if not (tmp_path / f"busy-{worker.pid}").exists():
                        worker.kill()
    assert seen[-1] == ("done", "late")
    assert "failed" not in dict(seen)
    assert "retried" not in dict(seen)


def test_the_steps_of_a_condition_are_told_one_by_one(run_locally):
    """All of them come at once with the last word, and none is lost."""
    job = ConditionJob(Condition("fog", 3), 3)
    seen = [
        (event.kind, event.left)
        for event in run_locally([job, Job("dense", 0)], 1)
        if event.job is job
    ]
    assert seen == [("started", 0), ("advanced", 2), ("advanced", 1), ("advanced", 0), ("done", 0)]


def test_no_more_workers_than_members(run_locally):
    with contextlib.closing(run_locally([Job("dense", 0)], 8)) as running:
        next(running)
        assert len(processes()) == 1
    assert not processes(), "a run that is left early leaves no process"


class TestGpus:
    @pytest.fixture(autouse=True)
    def machine(self, monkeypatch):
        """A machine of four cores and four GPUs."""
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1,3,GPU-5")
        monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(4)), raising=False)

    @pytest.mark.parametrize(
        ("options", "shares"),
        [
            ({}, ["0", "1", "3", "GPU-5"]),
            ({"gpus": 0}, [""] * 4),
            ({"gpus": 0, "cpus": 2}, [""] * 2),
            ({"gpus": 2}, ["0,1", "3,GPU-5"]),
            ({"gpus": 3}, ["0,1,3"]),
            ({"gpus": 0.5, "cpus": 0.5}, ["0", "1", "3", "GPU-5"] * 2),
            ({"gpus": 0.4, "workers": 5}, ["0", "1", "3", "GPU-5", "0"]),
            ({"workers": 9}, ["0", "1", "3", "GPU-5"]),
            ({"cpus": 4}, ["0"]),
        ],
    )
    def test_every_worker_has_its_own_or_its_share(self, options, shares):
        assert gpus_of_workers(EngineOptions(**options)) == shares

    def test_memory_limits_the_members_at_once(self, monkeypatch):
        monkeypatch.setattr("tfaudit.population.local.free_memory", lambda: 5e6)
        assert gpus_of_workers(EngineOptions(memory=2_000_000)) == ["0", "1"]

    def test_more_than_the_machine_has_is_refused(self, monkeypatch):
        expected = "gpus: got 5, expected at most 4, the GPUs of this machine"
        assert_refused(expected, gpus_of_workers, EngineOptions(gpus=5))
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "-1")
        expected = r"gpus: got 0\.5, expected at most 0, the GPUs of this machine"
        assert_refused(expected, gpus_of_workers, EngineOptions(gpus=0.5))
        assert gpus_of_workers(EngineOptions()) == [None] * 4

    def test_workers_see_their_gpus_and_threads_and_so_do_their_successors(
        self, run_locally, tmp_path
    ):
        jobs = [Job("slow", member) for member in range(2)]
        jobs += [Job("dense", member) for member in range(6)]
        jobs += [Job("mortal", 0)]
        list(run_locally(jobs, 2, gpus=2, cpus=2, jobs_per_worker=2))
        rows = [json.loads(line) for line in (tmp_path / "made").read_text().splitlines()]
        assert len({process for _, _, process, *_ in rows}) > 2
        assert {(gpus, threads) for _, _, _, gpus, threads, _ in rows} == {
            ("0,1", "2"),
            ("3,GPU-5", "2"),
        }


@pytest.mark.parametrize(
    ("user", "processor", "setting"),
    [
        (None, "x86_64", "1"),
        ("", "AMD64", "1"),
        ("0", "x86_64", "0"),
        (None, "aarch64", None),
        ("1", "arm64", "1"),
    ],
)
def test_workers_use_the_kernels_of_onednn_on_x86_unless_the_user_says_otherwise(
    run_locally, tmp_path, monkeypatch, user, processor, setting
):
    monkeypatch.delenv("TF_ENABLE_ONEDNN_OPTS", raising=False)
    if user is not None:
        monkeypatch.setenv("TF_ENABLE_ONEDNN_OPTS", user)
    monkeypatch.setattr(platform, "machine", lambda: processor)
    list(run_locally([Job("dense", 0)], 1))
    assert json.loads((tmp_path / "made").read_text())[-1] == setting


@pytest.mark.parametrize(
    ("listing", "names"),
    [
        ("GPU 0: A (UUID: GPU-1)\nGPU 1: A (UUID: GPU-2)", ["GPU-1", "GPU-2"]),
        ("GPU 0: A (UUID: GPU-1)\n  MIG 1g.5gb Device 0: (UUID: MIG-7)", ["MIG-7"]),
        ("NVIDIA-SMI has failed", []),
    ],
)
def test_the_driver_lists_the_gpus(tmp_path, monkeypatch, listing, names):
    command = tmp_path / "nvidia-smi"
    command.write_text(f"#!/bin/sh\necho '{listing}'")
    command.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert visible_gpus() == names
    command.unlink()
    assert visible_gpus() == []


def test_temporary_files_of_workers_are_removed_at_the_end_and_after_a_kill_by_the_next_run(
    run_locally, tmp_path, monkeypatch
):
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    running = run_locally([Job("dense", m) for m in range(3)], 1)
    while next(running).kind != "done":
        pass
    (scratch,) = place.iterdir()
    assert list(scratch.glob("__autograph*"))
    (scratch / "left by a run that was killed").touch()
    with contextlib.closing(run_locally([Job("dense", 9)], 1)) as again:
        next(again)
        assert not (scratch / "left by a run that was killed").exists()
    running.close()
    assert not list(place.iterdir())


def test_a_full_temporary_folder_is_not_blamed_on_the_study(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "scratch"))
    problem = OSError(
        errno.ENOSPC, "No space left on device", str(tmp_path / "scratch/__autograph.py")
    )
    fatal = worker.fatal_problem(problem, Path("/study"))
    assert fatal.argument == "temporary folder"
    assert fatal.got == f"{tmp_path}/scratch, which cannot be written (No space left on device)"
    problem.filename = "/study/members/x"
    assert worker.fatal_problem(problem, Path("/study")).argument == "directory"
