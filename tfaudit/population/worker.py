"""A worker process: does the jobs it is told to, one after another.

`python -m tfaudit.population.worker DIR` reads one order a line from its standard input, `["member", variant, number]`
or `["condition", corruption, severity]`, and answers each with one line: `{"error": null}`, or the traceback; `"fatal"`
besides, one line, where no job of the run can fare better (bad input, a full disk). Before that, `{"left": n}` tells
how many predictions of a condition are still missing. It ends when its input ends, even in the middle of a job, so that
no worker outlives a killed run. A process of its own rather than a fork or a `multiprocessing` child: it needs no
`if __name__ == "__main__"` in the user's script and works from notebooks.
"""

from __future__ import annotations

import errno
import functools
import json
import os
import queue
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from tfaudit.errors import InputError
from tfaudit.population.jobs import Order
from tfaudit.study.conditions import Condition

if TYPE_CHECKING:
    from tfaudit.population.evaluation import Evaluator
    from tfaudit.population.member import MemberMaker
    from tfaudit.store.store import Store

_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM)


def main(directory: str) -> None:
    """Serves orders until the standard input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle: it ends the workers
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # whatever a library prints goes to the log, not among the answers
    workshop = _Workshop(directory)

    def answer(words: dict[str, object]) -> None:
        answers.write(json.dumps(words) + "\n")

    for order in _read_orders():
        answer(_carry_out(workshop, order, lambda left: answer({"left": left})))


def _carry_out(workshop: _Workshop, order: Order, tell: Callable[[int], None]) -> dict[str, object]:
    try:
        workshop.prepare(*order)
    except InputError as problem:
        return {"error": traceback.format_exc(), "fatal": str(problem)}
    except BaseException as problem:
        return {"error": traceback.format_exc(), **workshop.refusal(problem)}
    try:
        workshop.make(*order, tell)
    except BaseException as problem:
        return {"error": traceback.format_exc(), **workshop.refusal(problem)}
    return {"error": None}


class _Workshop:
    """What a worker does its jobs with: made when it is first needed, and kept."""

    def __init__(self, directory: str) -> None:
        self._directory = directory

    def prepare(self, kind: str, name: str, number: int) -> None:
        """Brings about what the job cannot do without."""
        if kind == "member":
            self._members.prepare(name)
        else:
            self._conditions.prepare(Condition(name, number))

    def make(self, kind: str, name: str, number: int, tell: Callable[[int], None]) -> None:
        """Does the job; `tell` hears how many predictions of a condition are left."""
        if kind == "member":
            self._members.make(name, number)
        else:
            self._conditions.make(Condition(name, number), tell)

    def refusal(self, problem: BaseException) -> dict[str, object]:
        """What to answer besides where the disk took nothing more; nothing where it did."""
        if not isinstance(problem, OSError) or problem.errno not in _DISK:
            return {}
        refused = f"{problem.strerror}: {problem.filename}"
        return {"fatal": f"directory: {self._directory} cannot be written ({refused}); free it, then run again"}

    @functools.cached_property
    def _store(self) -> Store:
        import tensorflow as tf

        tf.config.threading.set_intra_op_parallelism_threads(1)
        tf.config.threading.set_inter_op_parallelism_threads(1)
        if tf.config.list_physical_devices("GPU"):  # on one thread of a CPU it only costs: a quarter of LeNet's speed
            tf.config.experimental.enable_op_determinism()

        from tfaudit.store.store import open_store

        return open_store(Path(self._directory))

    @functools.cached_property
    def _members(self) -> MemberMaker:
        store = self._store  # first: threads are set before TensorFlow does anything

        from tfaudit.population.member import MemberMaker

        return MemberMaker(store)

    @functools.cached_property
    def _conditions(self) -> Evaluator:
        store = self._store

        from tfaudit.population.evaluation import Evaluator

        return Evaluator(store)


def _read_orders() -> Iterator[Order]:
    orders: queue.SimpleQueue[Order] = queue.SimpleQueue()

    def read() -> None:
        for line in sys.stdin:
            orders.put(tuple(json.loads(line)))
        os._exit(0)  # the parent is gone or done with us; nothing half-made counts

    threading.Thread(target=read, daemon=True).start()
    return iter(orders.get, None)


if __name__ == "__main__":
    main(sys.argv[1])
