"""Weights of a float flatbuffer in fewer bits, rounded so that results change least."""

from collections.abc import Iterable, Mapping

from tfaudit.compress.litert.litert_quantizer import LiteRTQuantizer
from tfaudit.compress.litert.selective import Operators
from tfaudit.compress.model_inputs import Inputs
from tfaudit.extensions.mixed_precision.weight_rounding import RoundedWeights
from tfaudit.study.quantization import KINDS


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
        """Return the file in which some operators have weights of another type; see `LiteRTQuantizer.file`."""
        content = self._content
        if self._rounded is not None:
            operators = Operators(content).operands
            content = self._rounded.file({*operators}.difference(*types.values()))
        return LiteRTQuantizer(content).file(self._kind, types)
