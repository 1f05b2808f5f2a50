"""Exact copies among examples: each says nothing new, but counts as one more independent example."""

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from tfaudit.datasets.structure import leaves


def digests(batch: Any) -> list[bytes]:
    """Return a hash of each example of a batch: an array `(B, ...)`, or a dictionary or tuple of such arrays.

    Example:
        >>> first, second, third = digests(np.array([[1, 2], [1, 2], [2, 1]]))
        >>> first == second, first == third
        (True, False)
    """
    columns = [values for _, values in leaves(batch)]
    rows = zip(*columns, strict=True)
    return [
        hashlib.blake2b(b"".join(np.asarray(value).tobytes() for value in row)).digest()
        for row in rows
    ]


def notes_on_copies(
    contents: Sequence[bytes], clusters: np.ndarray | None = None
) -> tuple[str, ...]:
    """Return a sentence about exact copies among N examples, or nothing without any.

    Args:
        contents: content or hash of each example; empty for unknown ones.
        clusters: `(N,)` clusters of the examples; copies of one cluster count once and are not mentioned. None if the
            examples are independent.

    Example:
        >>> notes_on_copies([b"a", b"b", b"a"])[0][:53]
        '1 of the 3 examples is an exact copy of another one, '
        >>> notes_on_copies([b"a", b"b", b"a"], np.array([0, 1, 0]))
        ()
    """
    known = np.arange(len(contents)) if clusters is None else clusters
    pairs = {pair for pair in zip(contents, known.tolist(), strict=True) if pair[0]}
    copies = len(pairs) - len({content for content, _ in pairs})
    if not copies:
        return ()
    are = "is an exact copy of another one" if copies == 1 else "are exact copies of others"
    return (
        f"{copies:,} of the {len(contents):,} examples {are}, but intervals take examples as independent; a column "
        "`cluster` that is the same for all copies makes them count once.",
    )
