import gzip
import os

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from tests.builders.refusals import assert_refused
from tfaudit.datasets.idx import read_idx
from tfaudit.errors import InputError

ARRAY = np.arange(2 * 3 * 4, dtype=np.uint8).reshape(2, 3, 4)


@pytest.mark.parametrize("name", ["plain", "zipped.gz"])
def test_reads_what_was_written(tmp_path, write_idx, name):
    write_idx(tmp_path / name, ARRAY)
    assert_array_equal(read_idx(tmp_path / name, 3), ARRAY)


def damage(tmp_path, write_idx, change, zipped=False):
    path = tmp_path / "images"
    write_idx(path, ARRAY)
    content = change(path.read_bytes())
    path.write_bytes(gzip.compress(content)[:-12] if zipped else content)
    return path


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: b"", "got nothing at the start, expected 00000803"),
        (lambda c: b"\x00\x00\x08\x01" + c[4:], "got 00000801 at the start"),
        (lambda c: c[:9], "a truncated file of 9 bytes, expected a header of 16 bytes"),
        (lambda c: c[:-1], "got 23 bytes of data, expected 24, as its header says"),
        (lambda c: c + b"\x00", "got more bytes of data, expected 24, as its header says"),
    ],
)
def test_damaged_files_are_named(tmp_path, write_idx, change, message):
    with pytest.raises(InputError, match=message) as error:
        read_idx(damage(tmp_path, write_idx, change), 3)
    assert str(tmp_path / "images") in str(error.value)


def test_truncated_gzip(tmp_path, write_idx):
    assert_refused(
        "an unreadable file", read_idx, damage(tmp_path, write_idx, lambda c: c, zipped=True), 3
    )


def test_an_unreadable_file(tmp_path):
    assert_refused(r"an unreadable file .*No such file", read_idx, tmp_path / "none", 1)


def test_a_header_of_more_than_the_file_can_hold_takes_no_memory(tmp_path):
    path = tmp_path / "images"
    path.write_bytes(gzip.compress(b"\x00\x00\x08\x03" + b"\xff" * 12))
    assert_refused("got a header of 79228162458924105385300197375 bytes of data", read_idx, path, 3)


def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "images")
    assert_refused("no regular file", read_idx, tmp_path / "images", 3)
