"""Quantization-aware training as a setting of a study's variants."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar

from tfaudit.extensions import load
from tfaudit.study.remedies import Remedy
from tfaudit.study.settings import check_settings

if TYPE_CHECKING:
    import keras

_PLACE = "tfaudit.extensions.quantization_aware.quantization_aware"  # loads TensorFlow


@dataclasses.dataclass(frozen=True, kw_only=True)
class QuantizationAwareRemedy(Remedy):
    """Quantization-aware training of a copy of the dense member before it is quantized; see `quantization_aware`.

    >>> QuantizationAwareRemedy(momentum=0.9).title
    'quantization-aware (momentum 0.9)'
    """

    momentum: float = 0.99
    name: ClassVar[str] = "quantization_aware"
    word: ClassVar[str] = "quantization-aware"

    def __post_init__(self) -> None:
        check_settings(self, momentum=(0 <= self.momentum < 1, "a share in [0, 1)"))

    def check(self, model: keras.Model, float_layers: Iterable[str] | str) -> None:
        """Raise an `InputError` unless all layers but those that stay in float can be rounded."""
        load(f"{_PLACE}:check_rounding")(model, float_layers)

    def copy(self, model: keras.Model, float_layers: Iterable[str] | str) -> keras.Model:
        """Return the copy of a model that is trained, and then quantized with the ranges that it learned."""
        return load(f"{_PLACE}:quantization_aware")(  # type: ignore[no-any-return]
            model, float_layers=float_layers, **self.settings()
        )
