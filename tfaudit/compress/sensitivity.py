"""Sensitivity of layers to int8: predictions that each layer changes, measured on examples."""

from __future__ import annotations

import dataclasses
import io
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import rich.progress

from tfaudit.audits.model_pair.model_pair import PairComparison, compare
from tfaudit.audits.result import Drawing, Result
from tfaudit.compress.keras_model import layers_by_name, require_keras_model
from tfaudit.compress.model_comparison import predictions_of
from tfaudit.errors import InputError, listed, require, require_one_of
from tfaudit.predictions import Predictions
from tfaudit.runtime.captured_output import captured_output
from tfaudit.stats.multiplicity import adjust

if TYPE_CHECKING:
    import keras

    from tfaudit.charts.style import Drawing
    from tfaudit.compress.litert.selective import Calibrated

MODES = ("spared", "alone")
COMPARED = (
    "negative_flips",
    "positive_flips",
    "change_pp",
    "change_low_pp",
    "change_high_pp",
    "worst_class",
    "worst_change_pp",
)
"""Figures of `PairComparison.summary` in a row."""
DEBUGGED = 10
"""Number of examples on which the debugger measures the error of each layer."""


@dataclasses.dataclass(frozen=True)
class QuantizationSensitivity(Result):
    """Cost of int8 per layer.

    Attributes:
        table: one row per layer, the most sensitive first, with the columns of `frame`.
        plain: the comparison of the float model with its int8 file in which no layer is spared.
        mode: "spared" if in each row all layers but one are int8, "alone" if only that one is.
        size: bytes of the int8 file in which no layer is spared.
        seconds: seconds that the measurement took.
    """

    table: pd.DataFrame
    plain: PairComparison
    mode: str
    size: int
    seconds: float
    notes = ()

    def frame(self) -> pd.DataFrame:
        """Return one row per layer, the most sensitive first.

        Columns: `layer`; `operators`, the number of the layer's operators in the file; `bytes` of the file in which
        only this layer is float ("spared") or int8 ("alone"); compared with the float model, `negative_flips`,
        `positive_flips`, `changed` (predictions), `change_pp` of the accuracy with `change_low_pp` and
        `change_high_pp`, `worst_class` and its `worst_change_pp`; `avoided`, the negative flips of plain int8 minus
        those of this file, with McNemar's p-value `avoided_p` and its Holm correction `avoided_p_holm` (NaN for
        "alone"); `rmse`, the root mean squared error due to the layer's rounding, in quantization steps of its output
        (NaN if not measured).
        """
        return self.table.copy()

    def summary(self) -> dict[str, Any]:
        """Return the figures of plain int8, the most sensitive layer, and the layer with the largest `rmse`."""
        first = self.table.iloc[0]
        rmse = self.table.set_index("layer")["rmse"]
        overall = self.plain.overall
        return {
            "mode": self.mode,
            "layers": len(self.table),
            "examples": overall.examples,
            "int8_negative_flips": overall.lost,
            "int8_change_pp": 100 * (overall.won - overall.lost) / overall.examples,
            "int8_bytes": self.size,
            "first_layer": first["layer"],
            "first_negative_flips": int(first["negative_flips"]),
            "largest_rmse": str(rmse.idxmax()) if rmse.notna().any() else None,
            "seconds": self.seconds,
        }

    def chart(self) -> Drawing:
        """Draw the negative flips of every layer as bars; the vertical rule marks plain int8."""
        from tfaudit.compress.sensitivity_chart import sensitivity_chart

        return sensitivity_chart(self.table, self.plain.overall.lost, self.mode)


def quantization_sensitivity(
    model: keras.Model,
    data: Any,
    *,
    representative: Any,
    layers: Iterable[str] | None = None,
    mode: str = "spared",
    percentile: float = 100.0,
    rmse: bool = True,
    batch_size: int = 256,
    progress: bool | None = None,
    output: str | None = None,
) -> QuantizationSensitivity:
    """Measure the cost of int8 per layer on labelled examples; `quantize(..., keep_float=...)` spares layers.

    The model is converted and calibrated once. For every layer, it is quantized with only that layer in float, or only
    that layer in int8, and its predictions are compared with those of the float model. Each layer takes about as long
    as predicting the examples with the int8 file; `layers` limits which are measured. The rounding errors of layers, as
    `tf.lite.experimental.QuantizationDebugger` measures them, are reported too. They need no labels, but may rank
    layers differently from predictions. With few examples, numbers of flips are unreliable too: see `avoided_p`.

    Args:
        model: a built Keras 3 model.
        data: `(x, y)`, a `tf.data.Dataset` or a data set, as in `compare_models`.
        representative: training images for calibration, as for `quantize`.
        layers: names of layers to measure; all layers with a kernel by default.
        mode: "spared" (all but one in int8: what keeping it float saves) or "alone" (only one in int8: what it costs).
        percentile: percentile at which the ranges of all files end, as for `quantize`; 100 clips no values.
        rmse: whether to measure the rounding errors too, on the first 10 representative examples.
        batch_size: examples per step.
        progress: whether to show a bar with the time left; by default only in a terminal.
        output: name of the output to use if the model has several.

    Raises:
        InputError: `compare_models` or `quantize` refuses an argument, or a layer or the mode is unknown.
        ConversionError: TensorFlow Lite cannot convert the model.

    >>> import keras, numpy as np
    >>> model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(4, kernel_initializer="identity", name="only")])
    >>> x, y = np.eye(4, dtype="float32"), np.arange(4)
    >>> result = quantization_sensitivity(model, (x, y), representative=x)
    >>> result.frame()[["layer", "negative_flips", "avoided"]].values.tolist()
    [['only', 0.0, 0.0]]
    """
    from tfaudit.compress.pruning.kernels import kernel_layers

    begin = time.perf_counter()
    require_one_of("mode", mode, MODES)
    model = require_keras_model(model)
    measured = layers_by_name(model, kernel_layers(model) if layers is None else layers, "layers")
    require(bool(measured), "layers", layers, "one layer or more")
    require(50 < percentile <= 100, "percentile", percentile, "above 50 and at most 100")
    layered = LayeredInt8(
        model,
        [*measured.values()],
        representative,
        lambda made: predictions_of({"model": made}, data, batch_size=batch_size, output=output)[
            "model"
        ],
        percentile=percentile,
        output=output,
    )
    errors = layered.rounding_errors() if rmse else {}
    show = sys.stderr.isatty() if progress is None else progress
    rows = [
        layered.row(name, mode) | {"rmse": errors.get(name, np.nan)}
        for name in rich.progress.track(list(measured), "layers", disable=not show)
    ]
    table = pd.DataFrame(rows)
    table.insert(
        list(table).index("avoided_p") + 1,
        "avoided_p_holm",
        adjust(table["avoided_p"].to_numpy(), "holm"),
    )
    return QuantizationSensitivity(
        sensitive_first(table, mode), layered.plain, mode, layered.size, time.perf_counter() - begin
    )


def sensitive_first(table: pd.DataFrame, mode: str = "spared") -> pd.DataFrame:
    """Sort rows of `LayeredInt8.row`, the most sensitive layer first."""
    order = ["negative_flips", "change_pp", "changed"]
    ascending = [mode == "spared", mode == "alone", mode == "spared"]
    return table.sort_values(order, ascending=ascending, kind="stable").reset_index(drop=True)


class LayeredInt8:
    """Int8 files of a model that is calibrated once, each with a single layer in float or in int8.

    Args:
        model: a built Keras 3 model.
        layers: layers to measure.
        representative: training images for calibration.
        predictions: function that returns the predictions of a model or flatbuffer on labelled examples.
        percentile: percentile at which ranges end; 100 by default.
        output: name of the output to use if the model has several.
        check: function called before every conversion and calibration step, as in `quantize`.

    Attributes:
        plain: the comparison of the float model with its int8 file in which no layer is spared.
        size: bytes of this int8 file.

    Raises:
        InputError: `quantize` refuses an argument, or a layer has no operators of its own.
        ConversionError: TensorFlow Lite cannot convert the model.
    """

    def __init__(
        self,
        model: keras.Model,
        layers: Sequence[keras.layers.Layer],
        representative: Any,
        predictions: Callable[[Any], Predictions],
        *,
        percentile: float = 100.0,
        output: str | None = None,
        check: Callable[[], None] | None = None,
    ) -> None:
        from tfaudit.compress.litert.quantize import calibrated

        self._predicted = predictions
        self._source, self._feeds = calibrated(
            model, representative, layers, output=output, check=check
        )
        if percentile < 100:
            self._source.clip(percentile, self._source.histograms(self._feeds))
        self._operators = {
            layer.name: self._source.operators_of(number) for number, layer in enumerate(layers)
        }
        if empty := [name for name, own in self._operators.items() if not own]:
            raise InputError("layers", listed(empty), "layers with operators of their own")
        plain = self._converted(())
        self._before, self._with_int8 = self._predicted(model), self._predicted(plain)
        self.plain, self.size = compare(self._before, self._with_int8), len(plain)

    def row(self, name: str, mode: str = "spared") -> dict[str, Any]:
        """Return the columns of `QuantizationSensitivity.frame` for a layer, except `rmse` and `avoided_p_holm`."""
        operators = set(self._operators[name])
        spared = operators if mode == "spared" else set(self._source.operators) - operators
        content = self._converted(spared)
        after = self._predicted(content)
        pair = compare(self._before, after)
        summary = pair.summary()
        avoided = float(self.plain.overall.lost - pair.overall.lost)
        p = compare(self._with_int8, after).overall.p if mode == "spared" else np.nan
        return {
            "layer": name,
            "operators": len(operators),
            "bytes": len(content),
            **{name: summary[name] for name in COMPARED},
            "changed": summary["flips"],
            "avoided": avoided if mode == "spared" else np.nan,
            "avoided_p": p,
        }

    def rounding_errors(self) -> dict[str, float]:
        """Return the largest rounding error of each layer's operators on the first representative examples."""
        errors = rounding_errors(self._source, self._feeds[:DEBUGGED])
        largest = {
            name: [errors.get(one, np.nan) for one in own] for name, own in self._operators.items()
        }
        return {name: max(values) for name, values in largest.items()}

    def _converted(self, spared: Iterable[str]) -> bytes:
        with captured_output():
            return self._source.quantized(sorted(spared))


def rounding_errors(source: Calibrated, feeds: Sequence[Any]) -> dict[str, float]:
    """Return the debugger's root mean squared errors by operator, in quantization steps of the result."""
    import tensorflow as tf

    with captured_output():
        content = source.quantized(verified=True)
        debugger = tf.lite.experimental.QuantizationDebugger(
            quant_debug_model_content=content, debug_dataset=lambda: iter(feeds)
        )
        debugger.run()
        text = io.StringIO()
        debugger.layer_statistics_dump(text)
    table = pd.read_csv(io.StringIO(text.getvalue()))
    return dict(
        zip(
            table["tensor_name"], np.sqrt(table["mean_squared_error"]) / table["scale"], strict=True
        )
    )
