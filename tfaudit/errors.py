"""The one error that means: what you gave cannot be used."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["InputError", "listed", "one_line", "require"]


class InputError(ValueError):
    """Bad input: one line that names the argument, what came and what is allowed.

    The command line prints it without a traceback and exits with 2; every other exception is a defect of tfaudit
    and keeps its traceback.
    """


def require(condition: bool, argument: str, came: object, allowed: str) -> None:
    """Refuses an argument unless the condition holds.

    Raises:
        InputError: it does not.

    Example:
        >>> require(0 <= 2 < 1, "share", 2, "a number in [0, 1)")
        Traceback (most recent call last):
        tfaudit.errors.InputError: share: 2, allowed is a number in [0, 1)
    """
    if not condition:
        raise InputError(f"{argument}: {came!r}, allowed is {allowed}")


def one_line(error: BaseException) -> str:
    r"""The first line of an exception's message, or its type where it has none.

    Example:
        >>> one_line(OSError("no space\nleft")), one_line(KeyboardInterrupt())
        ('no space', 'KeyboardInterrupt')
    """
    return next(iter(str(error).strip().splitlines()), type(error).__name__)


def listed(names: Sequence[object]) -> str:
    """The first five names, and how many more there are.

    Example:
        >>> listed("abcdefg")
        'a, b, c, d, e and 2 more'
    """
    return ", ".join(map(str, names[:5])) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
