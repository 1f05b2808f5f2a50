"""TensorFlow Datasets without its chatter."""

import contextlib
import io
import logging
from collections.abc import Iterator

__all__ = ["quiet_tfds"]


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
