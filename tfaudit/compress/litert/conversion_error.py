"""The error of a failed conversion: one line that names the layer or the operator, made from the converter's text."""

import re
from typing import Any

from tfaudit.errors import InputError, one_line
from tfaudit.runtime.keras_internals import layers_in

MOST = 160
"""Most characters of the converter's own words."""

UNLIKE_FLOAT32 = ("float16", "bfloat16", "float64")
"""Types in which TensorFlow Lite does not compute."""

IN_FLOAT32 = "weights in float32, also of policy 'mixed_float16', for TensorFlow Lite"

_OPERATOR = re.compile(r"""loc\((?P<place>.*?)\)*: '(?:tf|tfl)\.(?P<name>\w+)' op """)
_PLACE = re.compile(r'fused\["\w+:", "(?P<path>[^"@]+)')


class ConversionError(InputError):
    """TensorFlow Lite cannot convert the model, or the converted model gives different scores from Keras."""


def conversion_error(error: Exception, model: Any, kind: str) -> ConversionError:
    """Return the error that says in one line what TensorFlow Lite cannot convert.

    The converter tells an operator and the place in the graph that it comes from, in thousands of characters of MLIR.

    Args:
        error: what the converter raised.
        model: the Keras model.
        kind: kind of quantization.

    Example:
        >>> import keras
        >>> model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2, name="scores")], name="net")
        >>> text = '''loc(fused["Erfinv:", "net_1/scores_1/Erfinv@main"]): 'tf.Erfinv' op is neither custom nor flex'''
        >>> print(conversion_error(RuntimeError(text), model, "int8"))
        model: got 'net', whose layer 'scores' (Dense) needs Erfinv, which TensorFlow Lite lacks, expected another layer
    """
    operators = [(match["name"], match["place"]) for match in _OPERATOR.finditer(str(error))]
    placed = [(name, _layer_at(place, model)) for name, place in operators]
    name, layer = next(filter(lambda pair: pair[1], placed), (placed or [("", None)])[0])
    if layer is not None and layer.compute_dtype in UNLIKE_FLOAT32:
        return ConversionError(
            "model", f"the layer {named(layer)} in {layer.compute_dtype}", IN_FLOAT32
        )
    if layer is not None:
        got = (
            f"{model.name!r}, whose layer {named(layer)} needs {name}, which TensorFlow Lite lacks"
        )
        return ConversionError("model", got, "another layer")
    if name:
        got = f"{model.name!r}, which needs {name}, which TensorFlow Lite lacks"
        return ConversionError("model", got, "a model without this operator")
    reason = one_line(error)
    reason = reason if len(reason) <= MOST else f"{reason[:MOST]} ..."
    got = f"{model.name!r}, which TensorFlow Lite cannot convert to {kind!r} ({reason})"
    return ConversionError("model", got, "one that it converts")


def named(layer: Any) -> str:
    """Return a layer's name and class for a message."""
    return f"{layer.name!r} ({type(layer).__name__})"


def _layer_at(place: str, model: Any) -> Any:
    """Return the innermost layer whose name scope holds a place in the graph; None if there is none."""
    layers = {layer.name: layer for layer in layers_in(model, itself=False)}
    for path in _PLACE.findall(place):
        for scope in reversed(path.split("/")):
            name = re.sub(r"_\d+$", "", scope)  # Keras numbers the scopes of a second trace
            if layer := layers.get(name) or layers.get(scope):
                return layer
    return None
