"""How the maker of a study judged it, which every report, gate and page then does by default."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from tfaudit.audits.gate.limits import DEFAULT_LIMITS, Limits
from tfaudit.errors import require_level


@dataclasses.dataclass(frozen=True)
class Judging:
    """Level, limits and order in which the variants of a study are judged.

    Attributes:
        alpha: significance level.
        limits: limits of the gate; without any, those that `Limits.for_classes` gives.
        sequence: keys of the variants that may be recommended, judged in this order up to the first that does not pass
            [LT]; empty if all may be, corrected for their number.
        chosen: key of the variant that the maker chose; empty if it chose none.

    Example:
        >>> judging = Judging(0.025, Limits(overall_drop_pp=2), ("int8",), "int8")
        >>> Judging.from_json(judging.to_json()) == judging
        True
    """

    alpha: float = 0.05
    limits: Limits = DEFAULT_LIMITS
    sequence: tuple[str, ...] = ()
    chosen: str = ""

    def __post_init__(self) -> None:
        require_level("alpha", self.alpha)

    def to_json(self) -> dict[str, Any]:
        """Return the settings as JSON values, of the limits those that are set: others may be no limits any more.

        >>> Judging(limits=Limits(flips=0.5)).to_json()["limits"]
        {'flips': 0.5}
        """
        return {**dataclasses.asdict(self), "limits": self.limits.settings()}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Judging:
        """Return what `to_json` returned."""
        limits = Limits.from_mapping(content["limits"])
        sequence = tuple(map(str, content["sequence"]))
        return cls(content["alpha"], limits, sequence, str(content["chosen"]))

    def applied(self, limits: Limits) -> Limits:
        """Return limits, or if none of them is set, those of the study."""
        return self.limits if limits == DEFAULT_LIMITS else limits


BY_DEFAULT = Judging()
"""How a study is judged whose maker said nothing."""
