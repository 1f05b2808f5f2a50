"""A worker process: makes the members it is told to, one after another.

`python -m tfaudit.population.worker DIR` reads one job a line, `["variant", member]`, from its standard input
and answers each with one line: `{"error": null}`, or the traceback; `"fatal"` besides, one line, where no member of the
run can fare better (bad input, a full disk). It ends when its input ends, even in the middle of a member, so that no
worker outlives a killed run. A process of its own rather than a fork or a `multiprocessing` child: it needs no
`if __name__ == "__main__"` in the user's script and works from notebooks.
"""

from __future__ import annotations

import errno
import json
import os
import queue
import signal
import sys
import threading
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from tfaudit.errors import InputError

if TYPE_CHECKING:
    from tfaudit.population.member import MemberMaker

_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM)


def main(directory: str) -> None:
    """Serves jobs until the standard input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle: it ends the workers
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # whatever a library prints goes to the log, not among the answers
    jobs = _read_jobs()
    maker = None
    for key, member in jobs:
        answer: dict[str, str | None] = {"error": None}
        try:
            maker = maker or _maker(directory)
            maker.prepare(key)
        except InputError as problem:
            answer = {"error": traceback.format_exc(), "fatal": str(problem)}
        except BaseException:
            answer = {"error": traceback.format_exc()}
        else:
            answer = _make(maker, key, member)
        if answer.get("disk"):
            answer["fatal"] = f"directory: {directory} cannot be written ({answer['disk']}); free it, then run again"
        answers.write(json.dumps(answer) + "\n")


def _make(maker: MemberMaker, key: str, member: int) -> dict[str, str | None]:
    try:
        maker.make(key, member)
    except OSError as problem:
        refused = f"{problem.strerror}: {problem.filename}" if problem.errno in _DISK else None
        return {"error": traceback.format_exc(), "disk": refused}
    except BaseException:
        return {"error": traceback.format_exc()}
    return {"error": None}


def _read_jobs() -> Iterator[tuple[str, int]]:
    jobs: queue.SimpleQueue[tuple[str, int]] = queue.SimpleQueue()

    def read() -> None:
        for line in sys.stdin:
            jobs.put(tuple(json.loads(line)))
        os._exit(0)  # the parent is gone or done with us; nothing half-made counts

    threading.Thread(target=read, daemon=True).start()
    return iter(jobs.get, None)


def _maker(directory: str) -> MemberMaker:
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    if tf.config.list_physical_devices("GPU"):  # on one thread of a CPU it only costs: a quarter of LeNet's speed
        tf.config.experimental.enable_op_determinism()

    from tfaudit.population.member import MemberMaker
    from tfaudit.store import open_store

    return MemberMaker(open_store(Path(directory)))


if __name__ == "__main__":
    main(sys.argv[1])
