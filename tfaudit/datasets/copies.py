"""Exact copies among examples: each says nothing new, but counts as one more independent example."""

import hashlib
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from tfaudit.datasets.structure import leaves

MOST_SHARED = 0.1
"""Share of the test examples that may be training examples, beyond what copies among these make likely."""


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


def notes_on_shared(train: Any, test: Any) -> tuple[str, ...]:
    """Return a sentence if test examples are training examples, far more often than these are copies of one another.

    Rows of a small table are often equal. If both splits were drawn alike, a test example has a copy among the training
    examples about as often as one of these has.

    Args:
        train: inputs of the training set, an array or a dictionary or tuple of arrays.
        test: inputs of the test set.

    Example:
        >>> notes_on_shared(np.arange(100), np.arange(30, 60))[0][:46]
        '30 of the 30 test examples are training exampl'
        >>> notes_on_shared(np.arange(100) // 3, np.arange(30)), notes_on_shared(np.arange(100), np.arange(95, 195))
        ((), ())
    """
    known, tested = Counter(digests(train)), digests(test)
    repeated = sum(count for count in known.values() if count > 1) / known.total()
    shared = sum(example in known for example in tested)
    if shared / len(tested) <= repeated + MOST_SHARED + len(tested) ** -0.5:
        return ()
    return (
        f"{shared:,} of the {len(tested):,} test examples are training examples, too, so that results on them say "
        "little about new examples; a function that splits its data needs the same seed at every call.",
    )
