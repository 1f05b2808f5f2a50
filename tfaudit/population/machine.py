"""The machine that members are made on: equal seeds give equal bits on processors of one model."""

import platform
from pathlib import Path


def cpu_model() -> str:
    """Return the name of the processor's model, or its architecture if the system does not tell.

    Example:
        >>> bool(cpu_model())
        True
    """
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or platform.machine() or "unknown")
