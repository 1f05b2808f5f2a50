"""File systems that machines share: which they are, what the locks do there."""

import json
import os
import platform
import time

import pytest

from tfaudit import InputError
from tfaudit.runtime import file_systems
from tfaudit.runtime.file_systems import file_system, is_shared
from tfaudit.store import files
from tfaudit.store.files import lock

MOUNTS = """22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
30 22 0:25 / /home rw - nfs4 server:/home rw,vers=4.2
31 30 0:26 / /home/me/scratch rw - tmpfs tmpfs rw
32 22 0:27 / /mnt/my\\040files rw master:2 - cifs //server/files rw
33 22 0:28 / /data rw - ext4 /dev/sdb1 rw
34 22 0:29 / /data rw - fuse.sshfs me@server: rw
35 22 0:30 / /new rw - superfs server rw
"""


@pytest.mark.parametrize(
    ("path", "kind", "shared"),
    [
        ("/", "ext4", False),
        ("/homes", "ext4", False),
        ("/home", "nfs4", True),
        ("/home/me/runs", "nfs4", True),
        ("/home/me/scratch/runs", "tmpfs", False),
        ("/mnt/my files/x", "cifs", True),
        ("/data/x", "fuse.sshfs", True),  # mounted over the disk
        ("/new/x", "superfs", True),  # unknown
    ],
)
def test_the_innermost_mount_decides(tmp_path, monkeypatch, path, kind, shared):
    (tmp_path / "mounts").write_text(MOUNTS)
    monkeypatch.setattr(file_systems, "MOUNTS", tmp_path / "mounts")
    assert file_system(path) == kind
    assert is_shared(path) is shared


def test_this_systems_mounts_can_be_read(small_disk):
    assert file_system(small_disk) == "tmpfs"
    assert not is_shared(small_disk)


@pytest.fixture
def shared(tmp_path, monkeypatch):
    """A folder that counts as shared, where locks hold nothing, as with NFS's local_lock."""
    monkeypatch.setattr(files, "is_shared", lambda path: True)
    monkeypatch.setattr(files.filelock.FileLock, "acquire", lambda self, timeout: None)
    monkeypatch.setattr(files, "STALE", 0.4)
    return tmp_path


def test_a_run_on_another_machine_is_told_though_locks_are_silent(shared, monkeypatch):
    with lock(shared):
        assert json.loads((shared / ".running").read_text()) == {
            "machine": platform.node(),
            "process": os.getpid(),
        }
        here = platform.node()
        monkeypatch.setattr(platform, "node", lambda: "elsewhere")
        time.sleep(0.6)  # the note is renewed meanwhile
        expected = (
            f"directory: got {shared}, in use by another `tfaudit run` on {here}, "
            "expected a directory that is not"
        )
        with pytest.raises(InputError, match=expected), lock(shared):
            pass
    with lock(shared):
        pass
    assert not list(shared.glob(".running*"))


def test_the_note_of_a_run_that_was_killed_counts_for_a_while(shared, monkeypatch):
    (shared / ".running").write_text('{"machine": "elsewhere", "process": 1}')
    with (
        pytest.raises(InputError, match="in use by another `tfaudit run` on elsewhere"),
        lock(shared),
    ):
        pass
    time.sleep(0.5)
    with lock(shared):
        assert platform.node() in (shared / ".running").read_text()
    (shared / ".running").write_text(json.dumps({"machine": platform.node(), "process": 1}))
    with lock(shared):  # here the lock itself tells whether that run still lives
        pass
    (shared / ".running").write_text("half a no")
    with lock(shared):
        pass
