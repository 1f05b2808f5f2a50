"""What a reader of a data set's published files hands to `tfaudit.datasets.prepare`."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class LocalFiles:
    """The checked content of a data set's published files."""

    features: Any  # TFDS features of an example
    # (key, example) pairs by split; TFDS orders a split by a hash of the keys
    splits: Mapping[str, Iterable[tuple[int | str, dict[str, Any]]]]
    total: int  # number of examples of all splits
    notes: tuple[str, ...] = ()  # what a reader of a study on them needs to know, one sentence each
