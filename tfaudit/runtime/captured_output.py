"""Context managers that silence TensorFlow, LiteRT and TensorFlow Datasets, and keep standard output for results."""

import contextlib
import io
import logging
import os
import sys
import tempfile
import threading
import warnings
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from typing import TextIO

_ONE_AT_A_TIME = threading.RLock()


@contextlib.contextmanager
def captured_output() -> Iterator[io.StringIO]:
    """Capture file descriptors 1 and 2, `sys.stdout`, `sys.stderr` and Python warnings.

    All are restored when the block ends, and then the text that it yields is complete, also after an exception. The
    descriptors belong to the process, so the output of other threads is captured too. Captures in two threads wait for
    each other.

    >>> with captured_output() as output:
    ...     count = os.write(2, b"as C++ code prints")
    >>> output.getvalue()
    'as C++ code prints'
    """
    output = io.StringIO()
    with _ONE_AT_A_TIME, tempfile.TemporaryFile() as file:
        try:
            with (
                redirected_descriptors(file.fileno()),
                redirect_stdout(output),
                redirect_stderr(output),
                warnings.catch_warnings(record=True) as caught,
            ):
                warnings.simplefilter("always")
                yield output
        finally:
            file.seek(0)
            output.write(file.read().decode(errors="replace"))
            output.writelines(
                f"{warning.category.__name__}: {warning.message}\n" for warning in caught
            )


@contextlib.contextmanager
def redirected_descriptors(target: int) -> Iterator[None]:
    """Redirect descriptors 1 and 2 to `target` within the block. A closed descriptor stays closed."""
    originals = {}
    for stream, descriptor in ((sys.stdout, 1), (sys.stderr, 2)):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream.flush()
        with contextlib.suppress(OSError):
            originals[descriptor] = os.dup(descriptor)
            os.dup2(target, descriptor)
    try:
        yield
    finally:
        for descriptor, original in originals.items():
            os.dup2(original, descriptor)
            os.close(original)


@contextlib.contextmanager
def reserved_stdout() -> Iterator[TextIO]:
    """Yield standard output for results alone: what anything else writes there goes to standard error.

    So does what the user's code prints, and what C libraries and subprocesses write to descriptor 1.
    """
    stdout = sys.stdout
    try:
        stdout.flush()
        is_descriptor = stdout.fileno() == 1
    except (OSError, ValueError, AttributeError):  # a stream in memory, or none
        is_descriptor = False
    with contextlib.ExitStack() as stack:
        if is_descriptor:
            results = stack.enter_context(
                os.fdopen(os.dup(1), "w", encoding=stdout.encoding, errors=stdout.errors)
            )
            stack.callback(os.dup2, results.fileno(), 1)
            stack.callback(stdout.flush)
            os.dup2(2 if sys.stderr else os.open(os.devnull, os.O_WRONLY), 1)
        stack.enter_context(redirect_stdout(sys.stderr))
        yield results if is_descriptor else stdout


def start_tensorflow() -> None:
    """Import TensorFlow and start its devices without its messages; do nothing if it is imported already."""
    # Its C++ parts write to descriptor 2 before they read any setting.
    if "tensorflow" not in sys.modules:
        with captured_output():
            import tensorflow as tf

            tf.config.list_logical_devices()


@contextlib.contextmanager
def quiet_tfds() -> Iterator[None]:
    """Silence TensorFlow Datasets: no progress bars, no text on standard output, and no logs below errors."""
    import tensorflow_datasets as tfds

    loggers = [logging.getLogger(name) for name in ("absl", "tensorflow")]
    levels = [logger.level for logger in loggers]
    tfds.disable_progress_bar()
    try:
        for logger in loggers:
            logger.setLevel(logging.ERROR)
        with redirect_stdout(io.StringIO()):
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
