"""The machine that members are made on: equal seeds give equal bits on processors of one model."""

import os
import platform
from pathlib import Path

MEMORY_VARIABLE = "TFAUDIT_MEMORY"
"""Environment variable of workers: bytes of memory of a member."""


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


def free_memory() -> float:
    """Return the bytes of memory that this process may still take; infinity if the system does not tell.

    `TFAUDIT_MEMORY` limits them, the bytes that the engine has reserved for a member.
    """
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        lines = []
    available = [float(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable")]
    return min([*available, float(os.environ.get(MEMORY_VARIABLE, "inf"))])
