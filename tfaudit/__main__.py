"""`tfaudit` and `python -m tfaudit`: the process of the command line."""

import atexit
import contextlib
import os
import sys
import threading
import time
import traceback
from collections.abc import Callable
from typing import NoReturn

from tfaudit.runtime.standard_streams import lasting

UNEXPECTED = 3
"""Exit code of an unexpected error: Python's own, 1, would say that a gate is shut."""

PATIENCE = 5.0
"""Seconds that threads of the user's code have to end after the command."""


def main() -> NoReturn:
    """Run the command line; end with its exit code, whatever the user's code does to end with another or not at all."""
    end_now = _reserve_exit()
    sys.stdout, sys.stderr = lasting(sys.stdout), lasting(sys.stderr)
    code = UNEXPECTED

    @atexit.register  # the first handler, so that it runs last
    def end_without_ray() -> None:
        if "ray" in sys.modules:  # its native libraries once aborted after the last line of Python
            _flush()
            end_now(code)

    code = _run()
    _flush()
    with contextlib.suppress(OSError):
        os.dup2(2, 1)  # what threads and exit handlers print does not follow the results
    deadline = time.monotonic() + PATIENCE
    threads = [
        one
        for one in threading.enumerate()
        if not one.daemon and one is not threading.current_thread()
    ]
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    if running := [thread.name for thread in threads if thread.is_alive()]:
        _tell(f"ended without waiting for {', '.join(running)}, a thread of imported code")
        end_now(code)
    sys.exit(code)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):  # closed
            stream.flush()


def _run() -> int:
    """Return the exit code of the command."""
    try:
        from tfaudit.cli import main as run  # an import that fails is an unexpected error too

        run()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else UNEXPECTED if end.code else 0
    except KeyboardInterrupt:
        return 130
    except BaseException as problem:
        with contextlib.suppress(OSError):
            traceback.print_exception(problem)
        cause = traceback.format_exception_only(problem.__cause__ or problem)[-1].strip()
        _tell(
            f"unexpected error, {cause}; exit code {UNEXPECTED}: nothing was judged; the traceback is above"
        )
        return UNEXPECTED
    return 0


def _reserve_exit() -> Callable[[int], NoReturn]:
    """Make `os._exit` raise SystemExit in this process, but not in its forks; return the original."""
    end_now = os._exit
    own = os.getpid()

    def leave(status: int) -> NoReturn:
        if os.getpid() != own:
            end_now(status)
        raise SystemExit(status)

    os._exit = leave
    return end_now


def _tell(text: str) -> None:
    with contextlib.suppress(OSError):
        print(f"tfaudit: {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
