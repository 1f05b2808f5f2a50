"""Files that LiteRT Quantizer (once called AI Edge Quantizer) makes of a float32 flatbuffer, without TensorFlow."""

from __future__ import annotations

import functools
import re
import warnings
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from tfaudit.compress.litert.activation_ranges import (
    computed_floats,
    histograms,
    measured_ranges,
    percentile_range,
)
from tfaudit.compress.litert.conversion_error import ConversionError
from tfaudit.compress.litert.file_settings import FileSettings
from tfaudit.compress.litert.flatbuffer import Flatbuffer
from tfaudit.compress.litert.flatbuffer_contents import weight_types
from tfaudit.compress.litert.marked_layers import Operators
from tfaudit.compress.model_inputs import Inputs
from tfaudit.errors import InputError, Notice, listed, missing_extra, one_line
from tfaudit.extensions import load
from tfaudit.runtime.captured_output import captured_output
from tfaudit.study.quantization import FLOAT, KINDS, TENSORFLOW


def quantizer_of(kind: str, content: bytes, feeds: Iterable[Inputs] | None) -> Any:
    """Return what makes files of a kind from a float32 flatbuffer: the writer of an extension, or LiteRT Quantizer."""
    writer = KINDS[kind].writer
    return (load(writer) if writer else LiteRTQuantizer)(content, feeds)


class LiteRTQuantizer:
    """Files of one float32 flatbuffer, whose activations are measured once.

    Args:
        content: the bytes of the float32 flatbuffer.
        feeds: inputs of each run that measures activations, read once or twice; None if no kind needs them.
    """

    def __init__(self, content: bytes, feeds: Iterable[Inputs] | None = None) -> None:
        self._content, self._feeds = content, () if feeds is None else feeds

    @functools.cached_property
    def operators(self) -> Operators:
        """The operators of the float32 flatbuffer."""
        return Operators(self._content)

    def file(self, settings: FileSettings, types: Mapping[str, Iterable[str]]) -> bytes:
        """Return the file of some kind.

        Operators that have no weights of so few bits, such as depthwise convolutions of int4, get int8. Integers reach
        from the lowest to the highest weight of an output channel.

        Args:
            settings: settings of the file.
            types: names of operators by the type of their weights, "int8", "float16" or "float32".

        Raises:
            InputError: LiteRT Quantizer is not installed (extra `quantizer`), or left all weights in float.
            ConversionError: it failed.

        Warns:
            Notice: it left weights in float that should have another type.
        """
        kind = settings.kind
        recipe = _recipe(self._content, settings)
        for dtype, operators in types.items():
            if own := "|".join(map(re.escape, operators)):
                _add_type(recipe, f"^({own});?$", dtype)
        ranges = self._statistics(settings.percentile) if KINDS[kind].calibrated else None
        silent = {"enable_progress_bar": False, "enable_progress_report": False}
        try:
            with captured_output():
                made = recipe.quantize(ranges, **silent).quantized_model
        except Exception as error:  # of its algorithms, of many types
            got = f"a model that LiteRT Quantizer cannot quantize to {kind!r} ({one_line(error)})"
            raise ConversionError("model", got, f"quantizer={TENSORFLOW!r}") from error
        _tell_skipped(bytes(made), kind, set(types.get(FLOAT, ())))
        return bytes(made)

    def _statistics(self, percentile: float) -> dict[str, dict[str, np.ndarray]]:
        """Return the ranges of activations as LiteRT Quantizer takes them.

        Its own measure is a moving average over examples, and depends on their order.
        """
        ranges = self._ranges
        if percentile < 100:
            ranges = {
                index: percentile_range(*histogram, percentile)
                for index, histogram in self._histograms.items()
            }
        names, network = computed_floats(self._content), self._network
        return {
            names[index]: {
                end: np.full([1] * network.tensor(index).ndim, value, np.float32)
                for end, value in zip(("min", "max"), limits, strict=True)
            }
            for index, limits in ranges.items()
        }

    @functools.cached_property
    def _network(self) -> Flatbuffer:
        return Flatbuffer(self._content, observed=True)

    @functools.cached_property
    def _ranges(self) -> Mapping[int, tuple[float, float]]:
        return measured_ranges(self._network, computed_floats(self._content), self._feeds)

    @functools.cached_property
    def _histograms(self) -> Mapping[int, tuple[np.ndarray, np.ndarray]]:
        return histograms(self._network, self._ranges, self._feeds)


def _recipe(content: bytes, settings: FileSettings) -> Any:
    """Return a quantizer of a file with the rules of its settings."""
    try:
        from litert_quantizer import qtyping, quantizer
    except ImportError as error:
        raise missing_extra(error, f"kind {settings.kind!r}") or error from None
    recipe = quantizer.Quantizer(content)
    every, kind = qtyping.TFLOperationName.ALL_SUPPORTED, KINDS[settings.kind]
    if kind.calibrated:
        grain = qtyping.QuantGranularity
        scales = grain.CHANNELWISE if settings.per_channel else grain.TENSORWISE
        recipe.add_static_config("", every, kind.activation_bits, 8, scales)
        for place in (qtyping.TFLOperationName.INPUT, qtyping.TFLOperationName.OUTPUT):
            _set_ends(recipe, place, settings.io)
    elif kind.types:
        _add_type(recipe, "", *kind.types)
    else:
        recipe.add_dynamic_config("", every, 8)
    if kind.bits:  # a later rule counts where it is supported
        recipe.add_dynamic_config("^", every, kind.bits)
    return recipe


def _set_ends(recipe: Any, place: Any, io: str) -> None:
    """Set the type of a file's inputs or outputs, in a rule of another scope than that of all operators."""
    from litert_quantizer import qtyping
    from litert_quantizer.algorithm_manager import AlgorithmName

    if io == FLOAT:
        recipe.update_quantization_recipe("^", place, algorithm_key=AlgorithmName.NO_QUANTIZE)
    elif io == "uint8":
        tensors = [
            qtyping.TensorQuantizationConfig(8, symmetric, dtype=dtype)
            for symmetric, dtype in (
                (False, qtyping.TensorDataType.UINT),
                (True, qtyping.TensorDataType.INT),
            )
        ]
        integers = qtyping.ComputePrecision.INTEGER
        config = qtyping.OpQuantizationConfig(*tensors, compute_precision=integers)
        recipe.update_quantization_recipe("^", place, config)


def _add_type(recipe: Any, scope: str, dtype: str) -> None:
    """Add a rule: operators whose names match a regular expression have weights of a type."""
    from litert_quantizer.algorithm_manager import AlgorithmName
    from litert_quantizer.qtyping import TFLOperationName

    every = TFLOperationName.ALL_SUPPORTED
    if dtype == FLOAT:
        recipe.update_quantization_recipe(scope, every, algorithm_key=AlgorithmName.NO_QUANTIZE)
    elif dtype == "float16":
        recipe.add_weight_only_config(scope, every, 16, algorithm_key=AlgorithmName.FLOAT_CASTING)
    else:
        recipe.add_dynamic_config(scope, every, 8)


def _tell_skipped(content: bytes, kind: str, in_float: set[str]) -> None:
    """Warn of weights that stayed in float though nobody asked for it.

    LiteRT Quantizer 0.11 leaves tables of embeddings in float without a word; no report of it is known.
    """
    to_quantize = {
        name: found for name, found in weight_types(content).items() if name not in in_float
    }
    skipped = {name: size for name, (dtype, size) in to_quantize.items() if dtype == FLOAT}
    if not skipped:
        return
    share = sum(skipped.values()) / sum(size for _, size in to_quantize.values())
    text = (
        f"LiteRT Quantizer left {100 * share:.3g} % of the weights in float ({listed([*skipped])})"
    )
    if len(skipped) == len(to_quantize):
        raise InputError("kind", f"{kind!r} for a model of which {text}", "another kind")
    warnings.warn(Notice(f"kind {kind!r}: {text}"), stacklevel=4)
