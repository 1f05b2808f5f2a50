"""Exact copies among examples: each says nothing new, but counts as one more independent example."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike

from tfaudit.stats.ratios import ratio

ENOUGH = 0.9
"""Share of the examples that must be worth as much as different ones for copies to play no part."""


def first_copies(contents: Iterable[bytes | str]) -> np.ndarray:
    """Return the position of the first example with the same content, `(N,)` integers; empty contents are unknown.

    Example:
        >>> first_copies([b"a", b"b", b"a", b"", b""])
        array([0, 1, 0, 3, 4])
    """
    first: dict[bytes | str, int] = {}
    return np.array(
        [first.setdefault(content, i) if content else i for i, content in enumerate(contents)]
    )


def clusters_of_copies(contents: Iterable[bytes | str], labels: np.ndarray) -> np.ndarray | None:
    """Return clusters of copies, `(N,)` integers; None if there are too few copies to matter.

    If a content occurs n_i times, all n examples are worth `n^2 / sum n_i^2` different ones: a variance over images is
    too small by as much. Copies matter if these are less than `ENOUGH` of the examples of all classes, or of one.

    Args:
        contents: content or hash of each example; empty for unknown ones.
        labels: `(N,)` integers, the classes.

    Example:
        >>> clusters_of_copies([b"a", b"b", b"a", b"b"], np.array([0, 1, 0, 1]))
        array([0, 1, 0, 1])
        >>> clusters_of_copies([b"a", b"b"], np.array([0, 1]))
    """
    first = first_copies(contents)
    for groups in (np.zeros_like(labels), labels):
        (group, _), sizes = np.unique(np.stack([groups, first]), axis=1, return_counts=True)
        worth = ratio(np.bincount(group, sizes), np.bincount(group, sizes**2))
        if np.nanmin(worth) < ENOUGH:
            return first
    return None


def notes_on_copies(
    contents: Iterable[bytes | str], clusters: ArrayLike | None = None
) -> tuple[str, ...]:
    """Return a sentence about exact copies among N examples, or nothing without any.

    Args:
        contents: content or hash of each example; empty for unknown ones.
        clusters: `(N,)` clusters of the examples; copies of one cluster count once, and are mentioned only if there are
            no other clusters. None if the examples are independent.

    Example:
        >>> notes_on_copies([b"a", b"b", b"a"])[0][:53]
        '1 of the 3 examples is an exact copy of another one, '
        >>> notes_on_copies([b"a", b"b", b"a"], np.array([0, 1, 0]))
        ('1 of the 3 examples is an exact copy of another one: copies count once.',)
    """
    first = first_copies(contents)
    count, different = len(first), len(np.unique(first))
    own = np.arange(count) if clusters is None else np.asarray(clusters)
    apart = len({*zip(first.tolist(), own.tolist(), strict=True)}) - different
    copies = apart or (count - different if len(np.unique(own)) == different else 0)
    if not copies:
        return ()
    are = "is an exact copy of another one" if copies == 1 else "are exact copies of others"
    sentence = f"{copies:,} of the {count:,} examples {are}"
    if not apart:
        return (f"{sentence}: copies count once.",)
    return (
        f"{sentence}, but intervals take examples as independent; a column `cluster` that is the same for all copies "
        "makes them count once.",
    )
