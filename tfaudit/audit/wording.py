"""Lists in sentences."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["listed"]


def listed(names: Sequence[object]) -> str:
    """The first five names, and how many more there are.

    Example:
        >>> listed("abcdefg")
        'a, b, c, d, e and 2 more'
    """
    return ", ".join(map(str, names[:5])) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
