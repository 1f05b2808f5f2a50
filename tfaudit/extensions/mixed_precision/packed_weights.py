"""Weights of a float flatbuffer in fewer bits, by LiteRT Quantizer (once called AI Edge Quantizer)."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Mapping

from tfaudit.compress.litert.flatbuffer_contents import weight_types
from tfaudit.compress.litert.selective import Operators
from tfaudit.compress.model_inputs import Inputs
from tfaudit.errors import InputError, Notice, listed, missing_extra
from tfaudit.extensions.mixed_precision.weight_rounding import RoundedWeights
from tfaudit.runtime.captured_output import captured_output
from tfaudit.study.quantization import FLOAT, KINDS


class PackedFiles:
    """Files of one float32 flatbuffer with weights in fewer bits, which are rounded once.

    Args:
        content: the bytes of the float32 flatbuffer.
        kind: kind of quantization with `bits`.
        feeds: inputs on which rounding shall change results least; None takes the nearest values.
    """

    def __init__(self, content: bytes, kind: str, feeds: Iterable[Inputs] | None) -> None:
        self._content, self._kind = content, kind
        bits = KINDS[kind].bits
        self._rounded = None if feeds is None else RoundedWeights(content, feeds, bits)

    def file(self, types: Mapping[str, Iterable[str]]) -> bytes:
        """Return the file in which some operators have weights of another type; see `packed_weights`."""
        content = self._content
        if self._rounded is not None:
            operators = Operators(content).operands
            content = self._rounded.file({*operators}.difference(*types.values()))
        return packed_weights(content, self._kind, types)


def packed_weights(content: bytes, kind: str, types: Mapping[str, Iterable[str]]) -> bytes:
    """Return a float32 flatbuffer with its weights in fewer bits, and everything else in float.

    Operators that have no weights of so few bits, such as depthwise convolutions of int4, get int8. Integers have a
    scale per output channel, and reach from the lowest to the highest weight.

    Args:
        content: the bytes of the float32 flatbuffer.
        kind: kind of quantization with `bits`, for all operators but those in `types`.
        types: names of operators by the type of their weights, "int8", "float16" or "float32".

    Raises:
        InputError: LiteRT Quantizer is not installed (extra `quantizer`), or left all weights in float.

    Warns:
        Notice: it left weights in float that should have another type.
    """
    try:
        from litert_quantizer import qtyping, quantizer
        from litert_quantizer.algorithm_manager import AlgorithmName
    except ImportError as error:
        raise missing_extra(error, f"kind {kind!r}") or error from None
    engine = quantizer.Quantizer(content)
    every = qtyping.TFLOperationName.ALL_SUPPORTED
    engine.add_dynamic_config("", every, 8)
    engine.add_dynamic_config(
        "^", every, KINDS[kind].bits
    )  # a later rule counts where it is supported
    for name, operators in types.items():
        if not (own := "|".join(map(re.escape, operators))):
            continue
        scope = f"^({own});?$"
        if name == FLOAT:
            engine.update_quantization_recipe(scope, every, algorithm_key=AlgorithmName.NO_QUANTIZE)
        elif name == "float16":
            engine.add_weight_only_config(
                scope, every, 16, algorithm_key=AlgorithmName.FLOAT_CASTING
            )
        else:
            engine.add_dynamic_config(scope, every, 8)
    with captured_output():
        made = bytes(engine.quantize(enable_progress_report=False).quantized_model)
    _tell_skipped(made, kind, set(types.get(FLOAT, ())))
    return made


def _tell_skipped(content: bytes, kind: str, spared: set[str]) -> None:
    """Warn of weights that stayed in float though nobody asked for it, which LiteRT Quantizer does without a word."""
    asked = {name: found for name, found in weight_types(content).items() if name not in spared}
    skipped = {name: size for name, (dtype, size) in asked.items() if dtype == FLOAT}
    if not skipped:
        return
    share = sum(skipped.values()) / sum(size for _, size in asked.values())
    text = (
        f"LiteRT Quantizer left {100 * share:.3g} % of the weights in float ({listed([*skipped])})"
    )
    if len(skipped) == len(asked):
        raise InputError("kind", f"{kind!r} for a model of which {text}", "another kind")
    warnings.warn(Notice(f"kind {kind!r}: {text}"), stacklevel=4)
