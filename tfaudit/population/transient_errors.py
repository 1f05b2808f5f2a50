"""Errors that may pass: errors of the machine, not of the code that runs on it."""

from __future__ import annotations

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
