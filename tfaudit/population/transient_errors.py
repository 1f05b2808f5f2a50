"""Errors that may pass: errors of the machine, not of the code that runs on it."""

from __future__ import annotations

import builtins
import re

_OF_LIBRARIES = frozenset(
    {
        "AbortedError",
        "DeadlineExceededError",
        "InternalError",
        "OutOfMemoryError",
        "ResourceExhaustedError",
        "UnavailableError",
    }
)
"""Names of such errors of TensorFlow and of other libraries, which need not be installed."""


def is_transient(problem: BaseException) -> bool:
    """Return whether another attempt may end otherwise: files, memory, connections, signals; not wrong code or input.

    An error that was raised from another, `raise ... from other`, may pass if the other may.

    >>> is_transient(ConnectionError()), is_transient(MemoryError()), is_transient(TypeError("fit() takes 2 arguments"))
    (True, True, False)
    """
    if isinstance(problem, OSError | MemoryError) or not isinstance(problem, Exception):
        return True
    if any(kind.__name__ in _OF_LIBRARIES for kind in type(problem).__mro__):
        return True
    return problem.__cause__ is not None and is_transient(problem.__cause__)


def may_pass(traceback: str) -> bool:
    r"""Return whether another attempt may end otherwise, judged by the names of the errors in a printed traceback.

    A text that names no error of Python, such as what is known of a process that died, may.

    >>> may_pass("  File ...\nTypeError: fit() takes 2 arguments"), may_pass("tfaudit.errors.InputError: layers: ...")
    (False, False)
    >>> may_pass("OSError: disk full\n...\nRuntimeError: dense/001"), may_pass("killed by signal 9")
    (True, True)
    """
    names = set(re.findall(r"^(?:\w+\.)*(\w+)(?::|$)", traceback, flags=re.MULTILINE))
    kinds = (getattr(builtins, name, None) for name in names)
    errors = [kind for kind in kinds if isinstance(kind, type) and issubclass(kind, Exception)]
    if names & _OF_LIBRARIES or any(issubclass(kind, OSError | MemoryError) for kind in errors):
        return True
    return not errors and not names & {"InputError", "ConversionError"}
