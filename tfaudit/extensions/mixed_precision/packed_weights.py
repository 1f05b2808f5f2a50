"""Weights of a float flatbuffer in fewer bits, rounded so that results change least."""

from collections.abc import Iterable, Mapping

from tfaudit.compress.litert.file_settings import FileSettings
from tfaudit.compress.litert.litert_quantizer import LiteRTQuantizer
from tfaudit.compress.litert.marked_layers import Operators
from tfaudit.compress.model_inputs import Inputs
from tfaudit.extensions.mixed_precision.weight_rounding import RoundedWeights
from tfaudit.study.quantization import KINDS


class PackedFiles:
    """Files of one float32 flatbuffer with weights in fewer bits, which are rounded once.

    Args:
        content: the bytes of the float32 flatbuffer.
        feeds: inputs on which rounding shall change results least; None takes the nearest values.

    Attributes:
        operators: operators of the flatbuffer.
    """

    def __init__(self, content: bytes, feeds: Iterable[Inputs] | None) -> None:
        self._content, self._feeds = content, feeds
        self._rounded: dict[int, RoundedWeights] = {}
        self.operators = Operators(content)

    def file(self, settings: FileSettings, types: Mapping[str, Iterable[str]]) -> bytes:
        """Return the file in which some operators have weights of another type; see `LiteRTQuantizer.file`."""
        content = self._content
        if self._feeds is not None:
            bits = KINDS[settings.kind].bits
            if bits not in self._rounded:
                self._rounded[bits] = RoundedWeights(content, self._feeds, bits)
            others = {*self.operators.operands}.difference(*types.values())
            content = self._rounded[bits].file(others)
        return LiteRTQuantizer(content).file(settings, types)
