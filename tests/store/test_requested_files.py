"""Files that a user names: into what is there, never in its place unless it is a file of its own."""

import os
import stat
import threading
from pathlib import Path

import pytest

from tests.builders.refusals import assert_refused
from tfaudit.store.requested_files import require_writable, write_requested

NEW = b"new"


def write(path):
    require_writable("json", path)
    write_requested("json", path, NEW)


@pytest.mark.parametrize("there", ["nothing", "a file", "a link", "a dangling link", "two names"])
def test_links_names_and_permissions_stay(tmp_path, there):
    target = tmp_path / "target"
    path = tmp_path / ("target" if there in ("nothing", "a file") else "other")
    mode = 0o664
    if there in ("nothing", "a dangling link"):
        mask = os.umask(0o027)
        mode = 0o640
    else:
        target.write_text("old and longer")
        target.chmod(mode)
    if there == "two names":
        path.hardlink_to(target)
    elif path != target:
        path.symlink_to("target")
    linked = path.is_symlink()
    try:
        write(path)
    finally:
        if mode == 0o640:
            os.umask(mask)
    assert target.read_bytes() == path.read_bytes() == NEW
    assert stat.S_IMODE(target.stat().st_mode) == mode
    assert path.is_symlink() == linked
    assert {place.name for place in tmp_path.iterdir()} == {"target", path.name}


def test_an_owner_stays_where_the_user_may_choose_it(tmp_path):
    if os.geteuid():
        pytest.skip("only root may give files away")
    path = tmp_path / "file"
    path.write_text("old")
    os.chown(path, 1234, 1234)
    write(path)
    assert (path.read_bytes(), path.stat().st_uid, path.stat().st_gid) == (NEW, 1234, 1234)


@pytest.mark.parametrize("refused", ["owner", "folder"])
def test_a_file_that_may_be_written_but_not_replaced_is_overwritten(tmp_path, monkeypatch, refused):
    path = tmp_path / "mounted"
    path.write_text("old and longer")
    before = path.stat().st_ino

    def forbid(*_):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(*(("os.fchown", forbid) if refused == "owner" else ("os.rename", forbid)))
    monkeypatch.setattr("pathlib.Path.replace", forbid)
    write(path)
    assert (path.read_bytes(), path.stat().st_ino) == (NEW, before)
    assert [place.name for place in tmp_path.iterdir()] == ["mounted"]


def test_pipes_and_devices_are_written_into(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    write(pipe)
    reader.join()
    assert read == [NEW]
    assert pipe.is_fifo()
    link = tmp_path / "null"
    link.symlink_to("/dev/null")
    write(link)
    assert link.is_char_device()
    reading, writing = os.pipe()
    write(Path(f"/dev/fd/{writing}"))  # as of the shell's >(command)
    assert os.read(reading, 9) == NEW
    os.close(reading)
    write(Path(f"/dev/fd/{writing}"))  # nobody reads on
    os.close(writing)


def test_a_full_device_is_one_line():
    full = Path("/dev/full")
    assert_refused(
        r"^json: got /dev/full, which cannot be written \(No space",
        write_requested,
        "json",
        full,
        NEW,
    )
    assert full.is_char_device()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("folder", "which is a folder, expected a file"),
        (
            "missing/file",
            r"whose folder \S+/missing does not exist, expected a file in an existing",
        ),
        ("far", r"whose folder \S+/missing does not exist"),
        ("loop", r"which cannot be written \(Too many levels of symbolic links\)"),
        ("file/below", r"which cannot be written \(Not a directory\)"),
        ("x" * 300, r"which cannot be written \(File name too long\)"),
    ],
)
def test_what_cannot_be_written_is_refused_before_any_work(tmp_path, name, words):
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    (tmp_path / "far").symlink_to("missing/file")
    (tmp_path / "loop").symlink_to("loop")
    before = sorted(tmp_path.rglob("*"))
    assert_refused(words, require_writable, "json", tmp_path / name)
    assert sorted(tmp_path.rglob("*")) == before
