"""A worker process as its parent sees it: started, given orders, read, ended."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import IO, cast

from tfaudit.population.engine import Answer
from tfaudit.population.logs import open_log, remove_if_empty
from tfaudit.population.machine import (
    GPUS_VARIABLE,
    keras_backend,
    onednn_setting,
)
from tfaudit.population.plan import Order
from tfaudit.runtime.user_functions import PATH_VARIABLE, search_path

COMMAND = (sys.executable, "-P", "-m", "tfaudit.population.worker")
"""Starts a worker; the directory follows. Without the current folder in the search path (`-P`), no file there hides a
library."""


class WorkerProcess:
    """A worker process and its two pipes.

    Args:
        command: command that starts the worker; the directory follows.
        directory: directory of the study.
        log: file for the output before the first job.
        scratch: folder for the process's temporary files.
        threads: number of threads within and between operations; 1 by default.
        gpus: GPUs that it may use, as `CUDA_VISIBLE_DEVICES` names them; by default those of this process.
    """

    def __init__(
        self,
        command: tuple[str, ...],
        directory: Path,
        *,
        log: Path,
        scratch: Path,
        threads: int = 1,
        gpus: str | None = None,
    ) -> None:
        self.log = log
        self.gpus = gpus
        # Workers may share a GPU, so each allocates the memory that it needs instead of all of it.
        settings = {
            "TF_CPP_MIN_LOG_LEVEL": "2",
            "OMP_NUM_THREADS": str(threads),
            "TF_FORCE_GPU_ALLOW_GROWTH": "true",
            "PYTHONUNBUFFERED": "1",
            "KERAS_BACKEND": keras_backend(),
            "TMPDIR": str(scratch),
            PATH_VARIABLE: os.pathsep.join(search_path()),
        }
        if gpus is not None:
            settings[GPUS_VARIABLE] = gpus
        with open_log(log) as file:
            # The pipes are unbuffered: a selector would not see answers that a buffer holds.
            self._process = subprocess.Popen(
                [*command, str(directory)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=file,
                env=os.environ | onednn_setting() | settings,
                bufsize=0,
            )
        self._orders = cast(IO[bytes], self._process.stdin)
        self.answers = cast(IO[bytes], self._process.stdout)
        self.id = self._process.pid
        self.jobs = 0  # number of orders so far

    def start(self, order: Order) -> None:
        """Send an order."""
        self.jobs += 1
        # The worker died, which the end of its answers shows.
        with contextlib.suppress(BrokenPipeError):
            self._orders.write(json.dumps(order).encode() + b"\n")
            self._orders.flush()

    def answer(self) -> Answer | None:
        """Wait for an answer and return it, or None if the process died."""
        line = self.answers.readline()
        return json.loads(line) if line.endswith(b"\n") else None

    def end(self) -> None:
        """Kill the process; do nothing if it has ended."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._orders, self.answers):
            with contextlib.suppress(BrokenPipeError):
                pipe.close()
        remove_if_empty(self.log)
