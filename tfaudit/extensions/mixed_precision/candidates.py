"""Candidates of a search whose layers have several types, chosen by what each layer costs on the selection part."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import pandas as pd

from tfaudit.errors import InputError, plural
from tfaudit.extensions.mixed_precision.layer_types import layer_types
from tfaudit.extensions.mixed_precision.sensitivity import LayeredFiles, sensitive_first
from tfaudit.study.quantization import FLOAT

if TYPE_CHECKING:
    import keras

    from tfaudit.compress.litert.conversions import Conversions
    from tfaudit.predictions import Predictions

FLOAT_LAYERS = (1, 3)
"""Numbers of layers in float."""

MIXED = (4.25, 4.5, 5.0, 6.0)
"""Mean bits per weight of int4 files; 8 would be those of int8."""

MOST_ADDED = 0.5
"""Most that a layer in float may add to the int8 file, as a share of its bytes."""


@dataclasses.dataclass(frozen=True)
class _LayerChoice:
    """A file of some kind, of which layers have other types.

    Attributes:
        kind: kind of quantization of the other layers.
        percentile: percentile at which their ranges end.
    """

    kind: ClassVar[str]
    percentile: ClassVar[float] = 100.0

    def layered(
        self,
        model: keras.Model,
        conversions: Conversions,
        layers: Sequence[str],
        predictions: Callable[[Any], Predictions],
    ) -> LayeredFiles:
        """Return the files by which the cost of each layer is measured; arguments are those of `LayeredFiles`."""
        by_name = {name: model.get_layer(name) for name in layers}
        return LayeredFiles(
            model,
            conversions,
            by_name,
            predictions,
            kind=self.kind,
            percentile=self.percentile,
        )


@dataclasses.dataclass(frozen=True)
class LayersInFloat(_LayerChoice):
    """An int8 file of which some layers stay in float, those that int8 harms most.

    Attributes:
        count: number of these layers.
    """

    count: int
    kind: ClassVar[str] = "int8"
    percentile: ClassVar[float] = 99.999

    @classmethod
    def of(cls, layers: int) -> list[LayersInFloat]:
        """Return the choices for a model of some layers."""
        return [cls(count) for count in FLOAT_LAYERS if count < layers]

    @property
    def key(self) -> str:
        """Part of the name of a candidate's files."""
        return f"float={self.count}"

    @property
    def title(self) -> str:
        """Readable name."""
        return f"{plural(self.count, 'layer')} in float"

    @property
    def size(self) -> float:
        """Expected size of the file, as a share of one without layers of other types."""
        return 1 + self.count / 100

    @staticmethod
    def figures(layered: LayeredFiles, layer: str) -> dict[str, float]:
        """Return what a layer costs, as JSON values."""
        row = layered.row(layer)
        return {
            name: float(row[name]) for name in ("bytes", "negative_flips", "change_pp", "changed")
        }

    def types(self, measured: Mapping[str, Any], weights: Mapping[str, int]) -> dict[str, str]:
        """Return the types of the layers that differ from the others.

        Args:
            measured: rows with the figures of each `layer`, and the `bytes` of the file without layers in float.
            weights: number of weights of each layer.

        Raises:
            InputError: too few layers are small enough.
        """
        table = sensitive_first(pd.DataFrame(measured["rows"]))
        small = table.loc[table["bytes"] <= (1 + MOST_ADDED) * measured["bytes"], "layer"]
        if len(small) < self.count:
            got = f"{len(small)} layers that, kept in float, add at most {100 * MOST_ADDED:.0f} % to the int8 file"
            raise InputError("model", got, f"{self.count} or more")
        return dict.fromkeys(small[: self.count], FLOAT)


@dataclasses.dataclass(frozen=True)
class WiderLayers(_LayerChoice):
    """An int4 file of which some layers are int8 or float16, those whose weights cost the worst class most.

    Attributes:
        bits: mean bits of a weight.
    """

    bits: float
    kind: ClassVar[str] = "int4"

    @classmethod
    def of(cls, layers: int) -> list[WiderLayers]:
        """Return the choices for a model of some layers."""
        return [cls(bits) for bits in MIXED if layers > 1]

    @property
    def key(self) -> str:
        """Part of the name of a candidate's files."""
        return f"bits={self.bits:g}"

    @property
    def title(self) -> str:
        """Readable name."""
        return f"{self.bits:g} bits a weight"

    @property
    def size(self) -> float:
        """Expected size of the file, as a share of one without layers of other types."""
        return self.bits / 4

    @staticmethod
    def figures(layered: LayeredFiles, layer: str) -> dict[str, float]:
        """Return how far a layer in int4, and in int8, moves the class that moves most, as JSON values."""
        return {"int4": layered.loss(layer, "int4"), "int8": -layered.loss(layer, "float16")}

    def types(self, measured: Mapping[str, Any], weights: Mapping[str, int]) -> dict[str, str]:
        """Return the types of the layers that differ from the others; arguments are those of `LayersInFloat.types`."""
        losses = {row["layer"]: (row["int4"], row["int8"]) for row in measured["rows"]}
        return layer_types(weights, losses, self.bits)
