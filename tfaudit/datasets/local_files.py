"""`LocalFiles`: the content of a data set's published files, which `tfaudit.datasets.prepare` writes."""

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
    notes: tuple[str, ...] = ()  # sentences that readers of a study on them need
