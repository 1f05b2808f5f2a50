"""A worker process: does jobs one after another.

`python -m tfaudit.population.worker DIR` reads one order per line from its standard input, `["member", variant,
number]` or `["condition", corruption, severity]`, and answers each with one line: `{"error": null}`, or the traceback.
`"lasting"` beside a traceback says that another attempt would end in the same error.
If no job of the run can succeed (bad input, a full disk), the answer also has `"fatal"`: the argument, the value and
the expectation, as in an `InputError`. During a condition, `{"left": n}` reports how many predictions are missing;
during a training, `{"checkpoint": true, "step": n}` reports a checkpoint and the number of steps made, and
`{"checkpoint": false, "step": n}` that the training goes on from an earlier one.
The answer of a job that is done also has `"machine"`: `{"cpu": model, "gpus": [models]}`. What libraries print during a
job goes to its log, `logs/VARIANT-MEMBER.log` or `logs/SPLIT.log`, which is deleted if it is empty.

The process ends when its input ends, even during a job, so no worker outlives a killed run. It is a process of its own
rather than a fork or a `multiprocessing` child, so it works from notebooks and from scripts without
`if __name__ == "__main__"`.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import json
import os
import queue
import signal
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from tfaudit.datasets.dataset import Splits
from tfaudit.errors import InputError
from tfaudit.population.logs import open_log, remove_if_empty
from tfaudit.population.machine import keras_backend
from tfaudit.population.node_folder import remove_workplace, shipped_splits
from tfaudit.population.plan import Order, log_path
from tfaudit.population.transient_errors import is_transient
from tfaudit.runtime.captured_output import redirected_descriptors
from tfaudit.runtime.garbage_collection import collect_seldom
from tfaudit.runtime.user_functions import PATH_VARIABLE, extend_path
from tfaudit.store.files import unwritable
from tfaudit.store.store import Store, open_store
from tfaudit.study.conditions import Condition

if TYPE_CHECKING:
    from tfaudit.population.evaluation import Evaluator
    from tfaudit.population.member import MemberMaker

_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM)


def main(directory: str) -> None:
    """Do jobs until the standard input ends."""
    collect_seldom()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C and ends the workers
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # output of libraries goes to logs, not among the answers
    extend_path(list(filter(None, os.environ.get(PATH_VARIABLE, "").split(os.pathsep))))
    runner = _JobRunner(directory)

    def send(answer: dict[str, object]) -> None:
        answers.write(json.dumps(answer) + "\n")

    for order in _read_orders(directory):
        with _printing_to(Path(directory) / log_path(order)):
            answer = runner.run(*order, send)
        send(answer)


@contextlib.contextmanager
def _printing_to(log: Path) -> Iterator[None]:
    """Append all output to a log, and delete it if it is empty; skip the log if it cannot be written."""
    try:
        file = open_log(log)
    except (InputError, OSError):
        yield
        return
    with file, redirected_descriptors(file.fileno()):
        yield
    remove_if_empty(log)


class _JobRunner:
    """Does jobs with tools that are created when a job first needs them."""

    def __init__(self, directory: str) -> None:
        self._directory = directory

    def run(
        self, kind: str, name: str, number: int, send: Callable[[dict[str, object]], None]
    ) -> dict[str, object]:
        """Do a job and return the answer; `send` receives what the worker reports before."""
        prepared = False
        try:
            if kind == "member":
                self._members.prepare(name)
                prepared = True
                self._members.make(
                    name, number, lambda step, saved: send({"checkpoint": saved, "step": step})
                )
            else:
                self._conditions.prepare(Condition(name, number))
                prepared = True
                self._conditions.evaluate(
                    Condition(name, number), lambda left: send({"left": left})
                )
        except BaseException as problem:
            answer: dict[str, object] = {"error": traceback.format_exc()}
            fatal: InputError | None = None
            if isinstance(problem, OSError):
                fatal = fatal_problem(problem, Path(self._directory))
            elif isinstance(problem, InputError):
                # A user's function is wrong for all members.
                fatal = problem if not prepared or problem.argument == "training" else None
            if fatal is not None:
                answer["fatal"] = fatal.args
            elif not is_transient(problem):
                answer["lasting"] = True
            return answer
        return {"error": None, "machine": self._machine}

    @functools.cached_property
    def _machine(self) -> dict[str, object]:
        import tensorflow as tf

        from tfaudit.population.machine import cpu_model

        gpus = map(
            tf.config.experimental.get_device_details, tf.config.list_physical_devices("GPU")
        )
        return {"cpu": cpu_model(), "gpus": [details.get("device_name", "GPU") for details in gpus]}

    @functools.cached_property
    def _store(self) -> Store:
        threads = int(os.environ.get("OMP_NUM_THREADS", "1"))
        if keras_backend() == "torch":
            import keras  # noqa: F401 - before TensorFlow, after which triton ends the process
            import torch

            torch.set_num_threads(threads)
        import tensorflow as tf

        tf.config.threading.set_intra_op_parallelism_threads(threads)
        tf.config.threading.set_inter_op_parallelism_threads(threads)
        # On a CPU with one thread it only costs a quarter of LeNet's speed.
        if tf.config.list_physical_devices("GPU"):
            if keras_backend() == "tensorflow":
                tf.config.experimental.enable_op_determinism()
            else:  # it reads and augments the data
                tf.config.set_visible_devices([], "GPU")

        return open_store(Path(self._directory))

    @functools.cached_property
    def _members(self) -> MemberMaker:
        store = self._store  # first, since it sets the threads before TensorFlow starts

        from tfaudit.population.member import MemberMaker

        return MemberMaker(store, self._splits)

    @functools.cached_property
    def _conditions(self) -> Evaluator:
        store = self._store

        from tfaudit.population.evaluation import Evaluator

        return Evaluator(store, self._splits[1] if self._splits else None)

    @functools.cached_property
    def _splits(self) -> Splits | None:
        return shipped_splits(Path(self._directory))


def fatal_problem(problem: OSError, directory: Path) -> InputError | None:
    """Return the error about a file that no job can write; None if the next attempt may succeed.

    The file lies in the study or in the temporary folder.
    """
    if problem.errno not in _DISK and directory.is_dir():
        return None
    scratch = tempfile.gettempdir()
    if str(problem.filename or directory).startswith(scratch + os.sep):
        got = f"{scratch}, which cannot be written ({problem.strerror})"
        how = "free space there, or TMPDIR set to another folder; then run again"
        return InputError("temporary folder", got, how)
    return unwritable(directory, problem)


def _read_orders(directory: str) -> Iterator[Order]:
    orders: queue.SimpleQueue[Order] = queue.SimpleQueue()

    def read() -> None:
        for line in sys.stdin:
            orders.put(tuple(json.loads(line)))
        remove_workplace(Path(directory))
        os._exit(0)  # the parent has ended or needs no more jobs; unfinished work does not count

    threading.Thread(target=read, daemon=True).start()
    return iter(orders.get, None)


if __name__ == "__main__":
    main(sys.argv[1])
