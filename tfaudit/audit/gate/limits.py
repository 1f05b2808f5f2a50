"""What a compressed model may lose: the limits of a gate."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

from tfaudit.errors import InputError, require

__all__ = ["Limits"]

_RANGES = {
    "overall_drop_pp": (0.0, 100.0, "percentage points in [0, 100]"),
    "worst_class_drop_pp": (0.0, 100.0, "percentage points in [0, 100]"),
    "harmed_share": (0.0, 1.0, "a share in [0, 1]"),
    "flips": (0.0, 1.0, "a share in [0, 1]"),
    "negative_flips": (0.0, 1.0, "a share in [0, 1]"),
    "intensification": (1.0, math.inf, "a slope of 1 or more; 1 is none"),
    "size_bytes": (1.0, math.inf, "a number of bytes, 1 or more"),
    "size_ratio": (0.0, math.inf, "compressed / baseline, 0 or more"),
}


@dataclasses.dataclass(frozen=True)
class Limits:
    """The most that each figure may be; None leaves it unchecked, and at least one is checked.

    Attributes:
        overall_drop_pp: drop of accuracy, percentage points.
        worst_class_drop_pp: drop of any class's recall, percentage points.
        harmed_share: share of the classes that are significantly harmed, after Benjamini and Hochberg (of populations
            in centred recall).
        flips: share of the examples that are answered differently; of populations the share of PIEs.
        negative_flips: share of the examples that were right and became wrong; of populations by modal label.
        intensification: slope of [R] 5, at least 1.
        size_bytes: of the compressed model's file.
        size_ratio: of the compressed model's file to the baseline's.

    Raises:
        InputError: no limit, a value that is no number, or one out of range.

    Example:
        >>> Limits(worst_class_drop_pp=2).given()
        {'worst_class_drop_pp': 2.0}
    """

    overall_drop_pp: float | None = None
    worst_class_drop_pp: float | None = None
    harmed_share: float | None = None
    flips: float | None = None
    negative_flips: float | None = None
    intensification: float | None = None
    size_bytes: float | None = None
    size_ratio: float | None = None

    def __post_init__(self) -> None:
        for name, (low, high, allowed) in _RANGES.items():
            value = getattr(self, name)
            if value is None:
                continue
            number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
            require(number and low <= value <= high, name, value, allowed)
            object.__setattr__(self, name, float(value))
        if not self.given():
            raise InputError("limits", "none given", f"one or more of {', '.join(_RANGES)}")

    @classmethod
    def from_mapping(cls, settings: Mapping[str, Any]) -> Limits:
        """Limits by name, for instance the `[gate]` table of a TOML file.

        Raises:
            InputError: a name that is no limit, or as `Limits`.

        Example:
            >>> Limits.from_mapping({"flips": 0.02}).flips
            0.02
        """
        unknown = [name for name in settings if name not in _RANGES]
        if unknown:
            raise InputError("limits", f"{unknown[0]!r} is none", ", ".join(_RANGES))
        return cls(**settings)

    def given(self) -> dict[str, float]:
        """The limits that are set, by name, in the order in which they are checked."""
        values = dataclasses.asdict(self)
        return {name: value for name, value in values.items() if value is not None}
