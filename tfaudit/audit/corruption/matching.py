"""Both populations under the same conditions, on the same images; which conditions show the same images."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, TypeAlias

import numpy as np

from tfaudit.audit.pairing import require_same_examples
from tfaudit.audit.wording import listed
from tfaudit.errors import InputError
from tfaudit.predictions import Predictions

__all__ = ["ImageSets", "Pair", "matched_conditions"]

Pair: TypeAlias = tuple[str, int]
"""Corruption and severity: 1 to 5, or 0 where a set has none."""


def matched_conditions(
    baseline: Mapping[Pair, Predictions], compressed: Mapping[Pair, Predictions]
) -> tuple[Pair, ...]:
    """The conditions of both mappings, in the order of the first.

    Raises:
        InputError: none, a key that is no condition, one that the other mapping lacks, or a corruption with a severity
            and without.

    Example:
        >>> matched_conditions({("fog", 1): None}, {("fog", 2): None})
        Traceback (most recent call last):
        tfaudit.errors.InputError: compressed: lacks fog 1; both must have the same conditions
    """
    for argument, conditions in (("baseline", baseline), ("compressed", compressed)):
        for condition in conditions:
            if not _is_condition(condition):
                allowed = "pairs of a corruption and a severity from 1 to 5, or 0 where a set has none"
                raise InputError(f"{argument}: key {condition!r}, allowed are {allowed}")
    if not baseline:
        raise InputError("baseline: no conditions; expected Predictions by corruption and severity")
    for argument, here, there in (("compressed", baseline, compressed), ("baseline", compressed, baseline)):
        if missing := [" ".join(map(str, condition)) for condition in here if condition not in there]:
            raise InputError(f"{argument}: lacks {listed(missing)}; both must have the same conditions")
    graded = {corruption for corruption, severity in baseline if severity}
    if mixed := [corruption for corruption, severity in baseline if not severity and corruption in graded]:
        raise InputError(f"baseline: {listed(mixed)} with a severity and without; allowed is one of the two")
    return tuple(baseline)


def _is_condition(key: object) -> bool:
    if not isinstance(key, tuple) or len(key) != 2:
        return False
    corruption, severity = key
    return isinstance(corruption, str) and isinstance(severity, int) and 0 <= severity <= 5


class _Images(NamedTuple):
    ids: np.ndarray
    labels: np.ndarray


class ImageSets:
    """The sets of images seen so far; without predictions, which would keep whole conditions in memory."""

    def __init__(self) -> None:
        self.class_names: tuple[str, ...] = ()
        self._known: list[_Images] = []

    def labels(self, pair: tuple[Predictions, Predictions], place: str) -> np.ndarray:
        """`(N,)` true classes; the same array whenever the same images are shown.

        Args:
            pair: baseline and compressed population.
            place: where they answer, for people.

        Raises:
            InputError: the two differ in their examples, or in their classes from the pairs before.
        """
        try:
            require_same_examples(*pair)
        except InputError as problem:
            raise InputError(f"{problem} ({place})") from None
        first = pair[0]
        self.class_names = self.class_names or first.class_names
        if first.class_names != self.class_names:
            raise InputError(f"baseline: class_names differ from those of the conditions before ({place})")
        for known in self._known:
            if np.array_equal(known.labels, first.labels) and np.array_equal(known.ids, first.example_ids):
                return known.labels
        self._known.append(_Images(first.example_ids, first.labels))
        return first.labels
