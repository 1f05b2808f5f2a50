"""The lock on a file: one holder, released by the end of a block or of a process."""

import os
import subprocess
import sys
import threading
import time

import pytest

from tfaudit.runtime.file_lock import file_lock


def test_only_one_holds_the_file(tmp_path):
    path = tmp_path / "lock"
    with file_lock(path), pytest.raises(BlockingIOError), file_lock(path):
        pass
    with file_lock(path):
        pass


def test_a_patient_one_waits(tmp_path):
    path, order = tmp_path / "lock", []

    def hold():
        with file_lock(path):
            held.set()
            time.sleep(0.3)
            order.append("first")

    held = threading.Event()
    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    with pytest.raises(BlockingIOError), file_lock(path, patience=0.1):
        pass
    with file_lock(path, patience=60):
        order.append("second")
    thread.join()
    assert order == ["first", "second"]


FORKS = """
import os, pathlib, sys, time
from tfaudit.runtime.file_lock import file_lock
with file_lock(pathlib.Path(sys.argv[1])):
    if os.fork() == 0:
        time.sleep(30)
print(flush=True)
time.sleep(30)
"""


def test_a_fork_does_not_keep_what_its_parent_released(tmp_path):
    command = [sys.executable, "-c", FORKS, tmp_path / "lock"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True) as process:
        process.stdout.readline()
        with file_lock(tmp_path / "lock"):
            pass
        os.killpg(process.pid, 9)


def test_a_link_is_not_followed(tmp_path):
    (tmp_path / "lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic links"), file_lock(tmp_path / "lock"):
        pass
    assert not (tmp_path / "elsewhere").exists()


def test_a_killed_process_holds_nothing(tmp_path):
    code = FORKS.replace("os.fork() == 0", "True").replace(
        "time.sleep(30)", "os.kill(os.getpid(), 9)", 1
    )
    assert (
        subprocess.run([sys.executable, "-c", code, tmp_path / "lock"], check=False).returncode
        == -9
    )
    with file_lock(tmp_path / "lock"):
        pass
