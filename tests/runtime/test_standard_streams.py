"""Standard streams: a reader may leave, an encoding may lack characters, a device may be full."""

import os
import sys
from pathlib import Path

from tests.builders.refusals import assert_refused
from tfaudit.runtime.standard_streams import lasting, reserved_stdout, write_descriptor


def test_text_is_printed_in_any_encoding_and_to_nobody():
    reading, writing = os.pipe()
    with os.fdopen(writing, "w", encoding="latin-1") as pipe:
        stream = lasting(pipe)
        print("é → 5", file=stream, flush=True)
        assert os.read(reading, 99) == b"\xe9 ? 5\n"
        os.close(reading)
        for _ in range(3):  # as after `| head -1`
            print("more", file=stream, flush=True)


def test_a_full_device_is_one_line():
    with Path("/dev/full").open("w") as full:
        stream = lasting(full)
        assert_refused(
            r"^standard output: got .* \(No space left on device\)",
            print,
            "lost",
            file=stream,
            flush=True,
        )
        stream.flush()  # as at the end of the process: it is told once


def test_streams_that_are_no_descriptors_stay(capsys):
    assert lasting(sys.stdout) is sys.stdout
    assert lasting(None) is None
    with reserved_stdout() as results:
        print("from a library")
        print("a result", file=results)
        write_descriptor(1, "ein Häkchen ✓\n".encode())
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("a result\nein Häkchen ✓\n", "from a library\n")
