"""Exact copies of examples, within a data set and between its splits."""

from collections import Counter
from dataclasses import replace
from typing import Any

from tfaudit.datasets.dataset import Dataset
from tfaudit.datasets.fingerprint import digests
from tfaudit.stats.copies import clusters_of_copies
from tfaudit.stats.group_codes import CLUSTER

MOST_SHARED = 0.1
"""Share of the test examples that may be training examples, beyond what copies among these make likely."""


def copies_as_clusters(data: Dataset) -> Dataset:
    """Return a data set in memory whose exact copies are clusters, if it has no clusters and many copies.

    Example:
        >>> import numpy as np
        >>> from tfaudit.datasets.examples import as_dataset
        >>> data = copies_as_clusters(as_dataset((np.arange(12) // 3, np.arange(12) // 6), "data", "test"))
        >>> data.clusters
        array([0, 0, 0, 3, 3, 3, 6, 6, 6, 9, 9, 9])
    """
    if data.clusters is not None or not data.in_memory:
        return data
    clusters = clusters_of_copies(digests(data.held), data.labels)
    if clusters is None:
        return data
    return replace(data, known_groups={**data.known_groups, CLUSTER: clusters})


def notes_on_shared(train: Any, test: Any) -> tuple[str, ...]:
    """Return a sentence if test examples are training examples, far more often than these are copies of one another.

    Rows of a small table are often equal. If both splits were drawn alike, a test example has a copy among the training
    examples about as often as one of these has.

    Args:
        train: inputs of the training set, an array or a dictionary or tuple of arrays.
        test: inputs of the test set.

    Example:
        >>> import numpy as np
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
