"""The machine that members are made on: equal seeds give equal bits on processors of one model."""

import itertools
import math
import os
import platform
import re
import shutil
import subprocess
from pathlib import Path

GPUS_VARIABLE = "CUDA_VISIBLE_DEVICES"
"""Environment variable that says which GPUs a process may use."""

ONEDNN_VARIABLE = "TF_ENABLE_ONEDNN_OPTS"
"""Environment variable that says whether TensorFlow uses oneDNN's kernels."""


def available_cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def visible_gpus() -> list[str]:
    """Return the NVIDIA GPUs that this process may use, as `CUDA_VISIBLE_DEVICES` names them, without TensorFlow.

    Where that variable is not set, `nvidia-smi` lists them: the parts of a GPU that is partitioned (MIG), or the GPUs.
    """
    variable = os.environ.get(GPUS_VARIABLE)
    if variable is not None:
        names = (name.strip() for name in variable.split(","))
        return list(itertools.takewhile(lambda name: name not in ("", "-1"), names))
    command = shutil.which("nvidia-smi")
    if command is None:
        return []
    listing = subprocess.run([command, "-L"], capture_output=True, text=True, check=False).stdout
    listed = re.findall(r"UUID: ([^)\s]+)", listing)
    return [name for name in listed if name.startswith("MIG-")] or listed


def keras_backend() -> str:
    """Return the backend that the environment asks for, TensorFlow by default, which workers run Keras on."""
    return os.environ.get("KERAS_BACKEND") or "tensorflow"


def onednn_setting() -> dict[str, str]:
    """Return the environment variable with which commands and workers on x86 use oneDNN's kernels; none if it is set.

    By default TensorFlow uses them only on processors with AVX-512 VNNI or the like. On other x86 processors, a step of
    a small convolutional network takes 1.7 times as long without them (`benchmarks/training_rate.py --kernels`). Arm's
    are left to TensorFlow, which uses oneDNN on some of them.
    """
    if os.environ.get(ONEDNN_VARIABLE) or platform.machine() not in ("x86_64", "AMD64"):
        return {}
    return {ONEDNN_VARIABLE: "1"}


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


def peak_memory() -> float:
    """Return the most bytes of memory that this program has held; 0 if the system does not tell.

    (`getrusage` counts what the program that started it had held, too.)
    """
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        return 0
    return 1024 * max(map(float, re.findall(r"VmHWM:\s+(\d+)", status)), default=0)


def free_memory() -> float:
    """Return the bytes of memory that this process may still take; infinity if the system does not tell."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        lines = []
    available = [float(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable")]
    return min(available, default=math.inf)
