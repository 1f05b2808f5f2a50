"""Context managers that silence TensorFlow, LiteRT and TensorFlow Datasets."""

import contextlib
import importlib.abc
import importlib.util
import io
import logging
import os
import sys
import tempfile
import threading
import warnings
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from importlib.machinery import ModuleSpec
from typing import Any

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


def start_tensorflow() -> None:
    """Import TensorFlow and start its devices without its messages; do nothing if it is imported already."""
    # Its C++ parts write to descriptor 2 before they read any setting
    # (https://github.com/tensorflow/tensorflow/issues/100442).
    if "tensorflow" not in sys.modules:
        with captured_output():
            import tensorflow as tf

            tf.config.list_logical_devices()


class _QuietImport(importlib.abc.MetaPathFinder):
    """A finder that starts TensorFlow without its messages when it is first imported, whoever does it."""

    def find_spec(self, name: str, path: Any, target: Any = None) -> ModuleSpec | None:
        """Return TensorFlow's specification, so that running it is quiet; None for any other module."""
        if name != "tensorflow":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def execute_quietly(module: Any) -> None:
                with captured_output():
                    execute(module)
                    module.config.list_logical_devices()

            spec.loader.exec_module = execute_quietly  # type: ignore[method-assign]
        return spec


def import_tensorflow_quietly() -> None:
    """Let TensorFlow start as by `start_tensorflow` when it is first imported, also by Keras or the user's code."""
    if "tensorflow" not in sys.modules:
        sys.meta_path.insert(0, _QuietImport())


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
