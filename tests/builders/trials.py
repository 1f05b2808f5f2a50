"""A trial of the campaigns in `tests/faults`: a command that must end in a result or in one clear line."""

import contextlib
import io
import os
import re
import resource
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from tfaudit import cli
from tfaudit.cli.console import bad_input_code
from tfaudit.errors import InputError

SILENT = "a silent difference"

COUNTED = ("results", "lines", "wrong", "silent", "hang", "memory")
"""How a trial of a campaign may end; the first two are right."""

TRIALS = os.environ.get("TFAUDIT_TRIALS")
"""Number of trials of each nightly campaign, if it is not to be the default."""

SECONDS, MEMORY = 20, 2**30
"""A trial may take so long, and so much memory beyond what the libraries take."""


NOTICES = r"(?m)^tfaudit: .*: characters that are no text are replaced: .*\n"
"""Lines that say how a file is read; the line that says what is wrong with it may follow."""


class Ending(NamedTuple):
    """How a trial ended: a result, or one line (`is_line`). What else happened is its `defect`."""

    text: str = ""  # result as text, or the line
    code: int = 0  # exit code of a command
    is_line: bool = False
    defect: str = ""


class Tally:
    """Counts how the trials of a campaign end, prints those that end badly, and is a table in the end."""

    def __init__(self, campaign: str) -> None:
        self.campaign = campaign
        self.counts = dict.fromkeys(COUNTED, 0)

    def add(self, title: str, end: Ending, problem: str = "") -> None:
        """Count a trial; `problem` says what is wrong, besides the defect of its ending."""
        problem = problem or end.defect
        self.counts[_kind(problem) if problem else "lines" if end.is_line else "results"] += 1
        if problem:
            print(f"{title}: {problem}", flush=True)

    def __str__(self) -> str:
        rows = [
            ("campaign", "trials", *self.counts),
            ["---"] * (2 + len(self.counts)),
            (self.campaign, sum(self.counts.values()), *self.counts.values()),
        ]
        return "\n".join(f"| {' | '.join(map(str, row))} |" for row in rows)


def _kind(problem: str) -> str:
    words = {"TimeoutError": "hang", "MemoryError": "memory", SILENT: "silent"}
    return next((kind for word, kind in words.items() if word in problem), "wrong")


def ending(read: Callable[[], object]) -> Ending:
    """Call a function that must return a result or raise an `InputError` of one line."""
    try:
        with _on_time():
            return Ending(repr(read()))
    except InputError as error:
        return _line(str(error))
    except BaseException:
        return Ending(defect=_last_line())


def command(*words: object) -> Ending:
    """Run `tfaudit` with these words in this process."""
    out, err, code = io.StringIO(), io.StringIO(), 0
    arguments, sys.argv = sys.argv, ["tfaudit", *map(str, words)]
    try:
        with _on_time(), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            cli.main()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else bool(end.code)
    except BaseException:
        return Ending(defect=_last_line())
    finally:
        sys.argv = arguments
    if "Traceback" in out.getvalue() + err.getvalue():
        return Ending(defect=f"a traceback: {err.getvalue()[-300:]!r}")
    told = re.sub(NOTICES, "", err.getvalue())
    if code == bad_input_code(list(map(str, words))) and told.startswith("tfaudit: "):
        return _line(told.removesuffix("\n"))
    if code not in (0, 1, 2):
        return Ending(defect=f"exit code {code}")
    return Ending(out.getvalue(), code)


def limit_memory() -> None:
    """Limit the memory of this process to `MEMORY` more than it takes."""
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    address_space = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (address_space + MEMORY + used, resource.RLIM_INFINITY))


def trials(default: int) -> int:
    """Return the number of trials to make."""
    return int(TRIALS or default)


def _line(text: str) -> Ending:
    if "\n" in text or len(text) > 2000:
        return Ending(defect=f"no line: {text[:200]!r}")
    return Ending(text, 2, is_line=True)


@contextlib.contextmanager
def _on_time():
    def late(*_):
        raise TimeoutError(f"more than {SECONDS} s")

    signal.signal(signal.SIGALRM, late)
    signal.signal(signal.SIGPROF, late)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)  # of work
    signal.alarm(5 * SECONDS)  # of waiting, on a machine with other work
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.alarm(0)


def _last_line() -> str:
    lines = traceback.format_exc().strip().splitlines()
    places = [
        re.sub(r".*?(tfaudit/\S+)", r"\1", line.strip()) for line in lines if "tfaudit/" in line
    ]
    return " | ".join([lines[-1][:300], *places[-2:]])
