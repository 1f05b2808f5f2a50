"""When Python looks for garbage."""

import atexit
import contextlib
import gc
from collections.abc import Iterator


def collect_seldom() -> None:
    """Look for cycles among objects less often in this process, and no more at its end.

    TensorFlow and its kin make a million objects that stay, and Python's defaults have them looked through again and
    again: to import them and end takes 2.9 seconds of the processor's time instead of 4.7.
    """
    gc.set_threshold(100_000, 2, 2)
    atexit.register(gc.freeze)


@contextlib.contextmanager
def skip_existing_objects() -> Iterator[None]:
    """Have searches for garbage within the block pass over the objects that exist already.

    A process that froze objects itself, as one does before a fork, keeps them frozen: nothing is changed then.

    Example:
        >>> with skip_existing_objects():
        ...     found = gc.collect()  # as libraries do, a fifth of a second where TensorFlow is imported
    """
    if gc.get_freeze_count():
        yield
        return
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
