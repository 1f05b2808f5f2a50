"""The sensitivity of layers as node data of Model Explorer, which colours the operators of a `.tflite` file by it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tfaudit.charts.page_colours import TEXT
from tfaudit.outlets.registry import Outlet

if TYPE_CHECKING:
    import keras

    from tfaudit.extensions.mixed_precision.sensitivity import QuantizationSensitivity

GRAPH = "main"  # Model Explorer's name of the graph of a file

MODEL_EXPLORER = Outlet(
    "what each layer of a .keras model costs in int8, for Model Explorer",
    "tfaudit.extensions.mixed_precision.model_explorer:explorer_files",
    takes="model",
)


def node_data(sensitivity: QuantizationSensitivity) -> str:
    """Return the negative flips that each layer costs as JSON; save it beside the model and load both.

    The value of an operator is that of its layer: the negative flips that keeping it in float avoids, or that it causes
    alone. Operators have the names of their results, in files of `quantize` with and without layers in float.

    Args:
        sensitivity: result of `tfaudit.quantization_sensitivity` for int8.
    """
    column = "avoided" if sensitivity.mode == "all_but_one" else "negative_flips"
    values = sensitivity.table.set_index("layer")[column]
    results = {
        operator: {"value": float(values[layer])}
        for layer, operators in sensitivity.operators.items()
        for operator in operators
    }
    stops = [{"stop": 0, "bgColor": "white"}, {"stop": 1, "bgColor": TEXT["dark"]["loss"]}]
    data = {"name": f"negative flips {column}", "results": results, "gradient": stops}
    return json.dumps({GRAPH: data}, indent=1)


def explorer_files(model: keras.Model, data: Any, representative: Any) -> dict[str, bytes]:
    """Return the int8 file of a model and its node data by path; arguments as for `quantization_sensitivity`."""
    from tfaudit.compress.litert.quantize import quantize
    from tfaudit.extensions.mixed_precision.sensitivity import quantization_sensitivity

    sensitivity = quantization_sensitivity(model, data, representative=representative)
    content = quantize(model, "int8", representative=representative)
    return {"int8.tflite": content, "flips.json": node_data(sensitivity).encode()}
