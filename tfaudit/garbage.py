"""How often a process of tfaudit's own looks for garbage."""

import atexit
import gc


def collect_seldom() -> None:
    """Look for cycles among objects less often, and no more at the end of the process.

    TensorFlow and its kin make a million objects that stay, and Python's defaults have them looked through again and
    again: to import them and end takes 2.9 seconds of the processor's time instead of 4.7.
    """
    gc.set_threshold(100_000, 20, 20)
    atexit.register(gc.freeze)
