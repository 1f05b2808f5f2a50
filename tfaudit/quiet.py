"""Keeps what TensorFlow and LiteRT print, from Python and from C++, off the user's terminal."""

import contextlib
import io
import logging
import os
import sys
import tempfile
import threading
import warnings
from collections.abc import Iterator

__all__ = ["captured_output", "quiet_tfds", "start_tensorflow"]

_ONE_AT_A_TIME = threading.RLock()


@contextlib.contextmanager
def captured_output() -> Iterator[io.StringIO]:
    """Captures file descriptors 1 and 2, `sys.stdout`, `sys.stderr` and Python warnings, and restores them always.

    The text yielded is complete once the block has ended, however it ended.

    The descriptors belong to the process, so whatever *other* threads print meanwhile is captured too. Two captures
    in two threads wait for each other.

    Example:
        >>> with captured_output() as chatter:
        ...     count = os.write(2, b"from C++, as it were")
        >>> chatter.getvalue()
        'from C++, as it were'
    """
    chatter = io.StringIO()
    with _ONE_AT_A_TIME, tempfile.TemporaryFile() as sink:
        saved = _point_descriptors_to(sink.fileno())
        try:
            with (
                contextlib.redirect_stdout(chatter),
                contextlib.redirect_stderr(chatter),
                warnings.catch_warnings(record=True) as caught,
            ):
                warnings.simplefilter("always")
                yield chatter
        finally:
            for descriptor, original in saved.items():
                os.dup2(original, descriptor)
                os.close(original)
            sink.seek(0)
            chatter.write(sink.read().decode(errors="replace"))
            chatter.writelines(f"{warning.category.__name__}: {warning.message}\n" for warning in caught)


def start_tensorflow() -> None:
    """Imports TensorFlow and starts its devices without its banners; does nothing where it is imported already.

    Its C++ parts log to descriptor 2 before any setting of theirs is read.
    """
    if "tensorflow" not in sys.modules:
        with captured_output():
            import tensorflow as tf

            tf.config.list_logical_devices()


def _point_descriptors_to(target: int) -> dict[int, int]:
    """Points descriptors 1 and 2 to `target`; the originals, by descriptor. A closed one stays closed."""
    saved = {}
    for stream, descriptor in ((sys.stdout, 1), (sys.stderr, 2)):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream.flush()
        with contextlib.suppress(OSError):
            saved[descriptor] = os.dup(descriptor)
            os.dup2(target, descriptor)
    return saved


@contextlib.contextmanager
def quiet_tfds() -> Iterator[None]:
    """Within it TFDS shows no progress bars, prints nothing and logs errors only."""
    import tensorflow_datasets as tfds

    loggers = [logging.getLogger(name) for name in ("absl", "tensorflow")]
    levels = [logger.level for logger in loggers]
    tfds.disable_progress_bar()
    try:
        for logger in loggers:
            logger.setLevel(logging.ERROR)
        with contextlib.redirect_stdout(io.StringIO()):
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
