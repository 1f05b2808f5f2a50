"""Errors that may pass: of the machine, not of the code that runs on it."""

from __future__ import annotations

_OF_LIBRARIES = frozenset(
    {"AbortedError", "DeadlineExceededError", "InternalError", "OutOfMemoryError", "ResourceExhaustedError"}
    | {"UnavailableError"}
)
"""Names of such errors of TensorFlow and of other libraries, which need not be installed."""


def may_pass(problem: BaseException) -> bool:
    """Return whether another attempt may end otherwise: files, memory, connections, signals; not wrong code or input.

    An error that was raised from another, `raise ... from other`, may pass if that one may.

    >>> may_pass(ConnectionError()), may_pass(MemoryError()), may_pass(TypeError("fit() takes 2 arguments"))
    (True, True, False)
    """
    if isinstance(problem, OSError | MemoryError) or not isinstance(problem, Exception):
        return True
    if any(kind.__name__ in _OF_LIBRARIES for kind in type(problem).__mro__):
        return True
    return problem.__cause__ is not None and may_pass(problem.__cause__)
