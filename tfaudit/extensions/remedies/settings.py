"""Remedies as settings of a study's variants."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, ClassVar

from tfaudit.extensions import load
from tfaudit.study.remedies import Remedy
from tfaudit.study.settings import check_positive, check_settings, set_fields

if TYPE_CHECKING:
    import keras


@dataclasses.dataclass(frozen=True, kw_only=True)
class DistillationRemedy(Remedy):
    """Distillation from the dense member of the same number; settings as in `tfaudit.Distillation`.

    >>> DistillationRemedy(temperature=2.0).key
    'distillation.temperature=2'
    """

    temperature: float = 4.0
    weight: float = 1.0
    focus: tuple[float, float] | None = None
    name: ClassVar[str] = "distillation"
    word: ClassVar[str] = "distilled"

    def __post_init__(self) -> None:
        focus = None if self.focus is None else tuple(self.focus)
        set_fields(self, focus=focus)
        pair = (1, 0) if focus is None else focus
        valid = len(pair) == 2 and min(pair) >= 0 and 0 < max(pair) < math.inf
        expected = "(alpha, beta), numbers of at least 0 of which one is above 0"
        check_settings(self, focus=(valid, expected))
        check_positive(self, "temperature", "weight")

    def callback(self, dense: keras.Model) -> keras.callbacks.Callback:
        """Return the callback of a retraining; its `teacher` may be replaced by another dense member between fits."""
        return load("tfaudit.extensions.remedies.distillation:Distillation")(  # type: ignore[no-any-return]
            dense, **self.settings()
        )
