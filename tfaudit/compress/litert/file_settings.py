"""What a file of a model shall be, whatever the model and whoever makes the file."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Mapping

from tfaudit.errors import InputError, require, require_one_of
from tfaudit.study.quantization import (
    FLOAT,
    IO_TYPES,
    KINDS,
    LAYER_TYPES,
    LITERT,
    QUANTIZERS,
    TENSORFLOW,
)

AWARE = "int8"
"""Kind that quantization-aware models are converted to."""


@dataclasses.dataclass(frozen=True)
class FileSettings:
    """Settings of a file: the arguments of `quantize` of the same names."""

    kind: str
    float_layers: Iterable[str] | str = ()
    layer_types: Mapping[str, str] | None = None
    percentile: float = 100.0
    per_channel: bool = True
    sparse: bool = False
    io: str = FLOAT
    quantizer: str = TENSORFLOW

    def __post_init__(self) -> None:
        require_one_of("kind", self.kind, KINDS)
        require_one_of("quantizer", self.quantizer, QUANTIZERS)
        require_one_of("io", self.io, IO_TYPES)
        require(isinstance(self.sparse, bool), "sparse", self.sparse, "True or False")
        require(
            isinstance(self.per_channel, bool), "per_channel", self.per_channel, "True or False"
        )
        in_range = 50 < self.percentile <= 100
        require(in_range, "percentile", self.percentile, "above 50 and at most 100")
        for name in (self.layer_types or {}).values():
            require_one_of("layer_types", name, LAYER_TYPES)

    def check(
        self, *, has_images: bool, keeps: bool = False, quantization_aware: bool = False
    ) -> None:
        """Raise an `InputError` for a setting that does not fit the kind, the quantizer or the model.

        Args:
            has_images: whether there are representative images.
            keeps: whether layers stay in float.
            quantization_aware: whether the model was trained for int8, and has ranges and no other kind.
        """
        if quantization_aware and self.kind != AWARE:
            raise InputError("kind", f"{self.kind!r} for a quantization-aware model", repr(AWARE))
        if KINDS[self.kind].calibrated and not (has_images or quantization_aware):
            expected = f"training images (N, H, W, C) for kind {self.kind!r}"
            raise InputError("representative", "None", expected)
        packed = [name for name, settings in KINDS.items() if settings.bits]
        self._require_kind("float_layers", keeps, quantization_aware, "int8", *packed)
        self._require_kind("layer_types", bool(self.layer_types), quantization_aware, *packed)
        self._require_kind("percentile", self.percentile < 100, quantization_aware, "int8")
        self._require_kind("per_channel", not self.per_channel, quantization_aware, "int8")
        if self.io != FLOAT and self.kind != "int8":
            expected = f"{FLOAT!r}, or kind 'int8'"
            raise InputError("io", f"{self.io!r} for kind {self.kind!r}", expected)
        if self.sparse:
            self._check_sparse(packed, keeps)
        if self.quantizer == LITERT and (self.sparse or quantization_aware):
            got = f"{LITERT!r} for " + ("sparse kernels" if self.sparse else "learned ranges")
            raise InputError("quantizer", got, repr(TENSORFLOW))

    def _check_sparse(self, packed: Collection[str], keeps: bool) -> None:
        """Raise an `InputError` for sparse kernels of packed weights, or beside layers in float."""
        if self.kind in packed:
            raise InputError("sparse", f"True for kind {self.kind!r}", "False")
        if keeps:
            raise InputError("sparse", "True with float_layers", "one of the two")

    def _require_kind(
        self, argument: str, is_set: bool, quantization_aware: bool, *kinds: str
    ) -> None:
        """Raise an `InputError` about a setting that only some kinds have."""
        if is_set and quantization_aware:
            expected = "quantization_aware(model, float_layers=...)"
            raise InputError(argument, "a quantization-aware model", expected)
        if is_set and self.kind not in kinds:
            expected = "kind " + " or ".join(map(repr, kinds))
            raise InputError(argument, f"kind {self.kind!r}", expected)
