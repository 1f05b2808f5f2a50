"""What a reader of local files hands to `prepare`."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["Source"]


@dataclass(frozen=True)
class Source:
    """Checked files, ready to be laid down.

    Attributes:
        features: The TFDS features of an example.
        splits: Per split its `(key, example)` pairs; TFDS orders a split by a hash of the keys.
        total: Examples of all splits together.
    """

    features: Any
    splits: Mapping[str, Iterable[tuple[int | str, dict[str, Any]]]]
    total: int
