"""A run on a failing disk, or killed, at each of its operations in turn: one line, and the next run completes it.

Members are replayed, everything else is real.
"""

import contextlib
import dataclasses
import errno
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from tests.builders.failing_disk import Operations
from tests.builders.nightly import and_nightly
from tests.builders.replayed_studies import SCRIPT, STUDY, replayed_study
from tests.builders.trials import command, trials
from tfaudit.errors import InputError
from tfaudit.study.variants import Quantized

SMALL = dataclasses.replace(STUDY, population=1, variants=(Quantized("int8"),), severities=(3,))
PROBLEMS = [
    (code, always) for code in (errno.ENOSPC, errno.EIO, errno.EROFS) for always in (True, False)
]
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGSTOP)
EVERY = pytest.mark.parametrize("every", and_nightly([5], [1]))
"""Every fifth operation is disturbed, and at night every one."""


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The files of a run that nothing disturbs, and the number of its operations."""
    directory = tmp_path_factory.mktemp("whole")
    with Operations(directory, 0, lambda *_: None).watched() as operations:
        replayed_study(directory, SMALL)
    return files(directory), operations.count


def files(directory):
    return {
        str(path.relative_to(directory)): path.read_bytes()
        for path in directory.rglob("*")
        if path.is_file() and path.name != ".lock" and "logs" not in path.parts
    }


def ways(number, every):
    """The ways in which an operation fails: at night, all of them."""
    return PROBLEMS if every == 1 else [PROBLEMS[number % len(PROBLEMS)]]


@pytest.mark.slow
@EVERY
def test_the_disk_fails_at_each_operation_in_turn(whole, tmp_path, every):
    expected, count = whole
    assert count > 50
    ends = {"one line": 0, "failed members": 0, "complete": 0}
    for number in range(1, count + 1, every):
        for code, always in ways(number, every):

            def fail(name, path, code=code):
                raise OSError(code, os.strerror(code), str(path))

            directory = tmp_path / f"{number}-{code}-{always}"
            with Operations(directory, number, fail, always=always).watched():
                try:
                    store = replayed_study(directory, SMALL)
                except InputError as error:
                    ends["one line"] += "cannot be written" in str(error)
                else:
                    failed = store.failures() or store.evaluations.failures()
                    ends["failed members" if failed else "complete"] += 1
                    assert failed or files(directory) == expected, (number, code, always)
            replayed_study(directory, SMALL)
            assert files(directory) == expected, (number, code, always)
    assert ends["one line"] > sum(ends.values()) / 3
    print(f"{sum(ends.values())} failing disks: {ends}")


@pytest.mark.slow
def test_an_audit_whose_results_cannot_be_cached_says_the_same(tmp_path):
    replayed_study(tmp_path, SMALL)
    expected = command("audit", tmp_path)
    assert expected.code == 0
    for number in (1, 2, 9):

        def fail(name, path):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

        shutil.rmtree(tmp_path / "audit")
        with Operations(tmp_path, number, fail, always=number % 2 == 0).watched():
            assert command("audit", tmp_path) == expected
        assert command("audit", tmp_path) == expected


@pytest.mark.slow
@EVERY
def test_the_run_is_killed_at_each_operation_in_turn(whole, tmp_path, every):
    expected, count = whole
    killed, moments = 0, range(1, count + 1, every)
    for number in moments:
        directory = tmp_path / str(number)
        process = os.fork()
        if not process:
            with Operations(
                directory, number, lambda *_: os.kill(os.getpid(), signal.SIGKILL)
            ).watched():
                replayed_study(directory, SMALL)
            os._exit(0)
        killed += os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == -signal.SIGKILL
        finished = {
            path: path.stat().st_mtime_ns for path in directory.glob("members/*/*/member.json")
        }
        replayed_study(directory, SMALL)
        assert files(directory) == expected, number
        assert {path: path.stat().st_mtime_ns for path in finished} == finished
    assert killed == len(moments)


def test_what_gets_its_name_is_on_the_disk_and_so_is_the_name_afterwards(tmp_path):
    """So a loss of power leaves no torn file under its name, and takes no stored result."""
    steps = []
    with Operations(
        tmp_path, 0, lambda name, path: steps.append((name, str(path))), always=True
    ).watched():
        replayed_study(tmp_path / "study", SMALL)
    assert all(path.endswith(".part") for name, path in steps if name == "open")
    named = [place for place, (name, _) in enumerate(steps) if name == "replace"]
    assert len(named) > 5
    for place in named:
        _, path = steps[place]
        assert steps[place - 1] == ("fsync", path)
        assert steps[place + 1] == ("fsync", str(Path(path).parent))


def results(directory):
    places = [
        *directory.glob("members/*/*/member.json"),
        *directory.glob("predictions/split=fog*/*/*.parquet"),
    ]
    return {path: path.stat().st_mtime_ns for path in places}


@pytest.mark.slow
@pytest.mark.parametrize("times", and_nightly([2], [trials(40)]))
def test_runs_and_workers_are_killed_at_random_moments(tmp_path, times):
    study = dataclasses.replace(STUDY, population=8)
    replayed_study(tmp_path / "whole", study)
    whole, rng, kills, studies = files(tmp_path / "whole"), random.Random(0), 0, 0
    while kills < times:
        directory, done = tmp_path / str(studies), {}
        studies += 1
        while kills < times and killed(study, directory, rng):
            kills += 1
            now = results(directory)
            assert done.items() <= now.items(), "a finished result was made again"
            done = now
        replayed_study(directory, study)
        assert done.items() <= results(directory).items(), "a finished result was made again"
        assert files(directory) == whole
        print(
            f"{kills} kills in {studies} studies of {len(results(directory))} results", flush=True
        )


def killed(study, directory, rng):
    """Run a study and kill the run or one of its workers; return whether it was killed before its end."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    script = [sys.executable, "-c", SCRIPT, json.dumps(study.to_json()), str(directory)]
    process = subprocess.Popen(script, stderr=subprocess.DEVNULL, env=environment)
    wanted = len(results(directory)) + rng.randint(0, 6)
    while len(results(directory)) < wanted and process.poll() is None:
        time.sleep(0.01)
    time.sleep(rng.random() * 0.3)
    if process.poll() is not None:
        return False
    workers = psutil.Process(process.pid).children()
    victim, how = rng.choice([process, *workers]), rng.choice(SIGNALS)
    victim.send_signal(how)
    if victim is not process or how == signal.SIGSTOP:  # a run whose worker dies replaces it
        time.sleep(rng.random() * 2)
        workers += (
            psutil.Process(process.pid).children() if process.poll() is None else []
        )  # not reaped before poll
        process.kill()
    process.wait()
    for worker in workers:
        with contextlib.suppress(psutil.NoSuchProcess):  # it may end at any moment
            if worker.status() == psutil.STATUS_STOPPED:
                worker.resume()
    assert not psutil.wait_procs(workers, timeout=90)[1], "a worker outlived its run"
    return True
