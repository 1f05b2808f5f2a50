"""Sensitivity of layers to int8: predictions that each layer changes, measured on examples."""

from __future__ import annotations

import dataclasses
import functools
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import rich.progress

from tfaudit.audits.model_pair.model_pair import PairComparison, compare
from tfaudit.audits.result import Drawing, Result
from tfaudit.compress.keras_model import layers_by_name, require_keras_model
from tfaudit.compress.model_comparison import predictions_of
from tfaudit.datasets.examples import as_dataset
from tfaudit.errors import require, require_one_of
from tfaudit.extensions.mixed_precision.layer_types import class_divergence
from tfaudit.predictions import Predictions
from tfaudit.runtime.captured_output import captured_output
from tfaudit.stats.multiplicity import adjust

if TYPE_CHECKING:
    import keras

    from tfaudit.charts.style import Drawing
    from tfaudit.compress.litert.conversions import Conversions

MODES = ("all_but_one", "only_one")
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


@dataclasses.dataclass(frozen=True)
class QuantizationSensitivity(Result):
    """Cost of int8 per layer.

    Attributes:
        table: one row per layer, the most sensitive first, with the columns of `frame`.
        plain: the comparison of the float model with its int8 file in which no layer is float.
        mode: "all_but_one" if in each row all layers but one are int8, "only_one" if only that one is.
        size: bytes of the int8 file in which no layer is float.
        seconds: seconds that the measurement took.
        operators: names of the operators of each layer in int8 files, with and without layers in float; empty for int4.
    """

    table: pd.DataFrame
    plain: PairComparison
    mode: str
    size: int
    seconds: float
    operators: Mapping[str, tuple[str, ...]]
    notes = ()

    def frame(self) -> pd.DataFrame:
        """Return one row per layer, the most sensitive first.

        Columns: `layer`; `operators`, the number of the layer's operators in the file; `bytes` of the file in which
        only this layer is float ("all_but_one") or int8 ("only_one"); compared with the float model, `negative_flips`,
        `positive_flips`, `changed` (predictions), `change_pp` of the accuracy with `change_low_pp` and
        `change_high_pp`, `worst_class` and its `worst_change_pp`; `class_divergence`, the mean divergence of the
        probabilities in the class that moves most, nats [KL]; `avoided`, the negative flips of the file without float
        layers minus those of this file, with McNemar's p-value `avoided_p` and its Holm correction `avoided_p_holm`
        (NaN for "only_one").
        """
        return self.table.copy()

    def summary(self) -> dict[str, Any]:
        """Return the figures of plain int8, and the most sensitive layer."""
        first = self.table.iloc[0]
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
            "seconds": self.seconds,
        }

    def chart(self) -> Drawing:
        """Draw the negative flips of every layer as bars; the vertical rule marks plain int8."""
        from tfaudit.extensions.mixed_precision.sensitivity_chart import sensitivity_chart

        return sensitivity_chart(self.table, self.plain.overall.lost, self.mode)


def quantization_sensitivity(
    model: keras.Model,
    data: Any,
    *,
    representative: Any,
    layers: Iterable[str] | None = None,
    kind: str = "int8",
    mode: str = "all_but_one",
    percentile: float = 100.0,
    batch_size: int = 256,
    progress: bool | None = None,
    output: str | None = None,
) -> QuantizationSensitivity:
    """Measure the cost of int8 per layer on labelled examples, to choose the `float_layers` of `quantize`.

    The model is converted and calibrated once. For every layer, it is quantized with only that layer in float, or only
    that layer in int8, and its predictions are compared with those of the float model. Each layer takes about as long
    as predicting the examples with the int8 file; `layers` limits which are measured. With few examples, numbers of
    flips are unreliable: see `avoided_p`.

    Args:
        model: a built Keras 3 model.
        data: `(x, y)`, a `tf.data.Dataset` or a data set, as in `compare_models`.
        representative: training examples for calibration, as for `quantize`.
        layers: names of layers to measure; all layers with a kernel by default.
        kind: "int8", or "int4" with the other type int8 where int8 has float.
        mode: "all_but_one" (what keeping one layer float saves) or "only_one" (what one layer in int8 costs).
        percentile: percentile at which the ranges of all files end, as for `quantize`; 100 clips no values.
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
    from tfaudit.compress.litert.conversions import Conversions
    from tfaudit.compress.pruning.kernels import kernel_layers

    begin = time.perf_counter()
    require_one_of("kind", kind, ("int8", "int4"))
    require_one_of("mode", mode, MODES)
    model = require_keras_model(model)
    examples = as_dataset(data, "data", "test")  # once, as it may be shuffled anew at every pass
    measured = layers_by_name(model, kernel_layers(model) if layers is None else layers, "layers")
    require(bool(measured), "layers", layers, "one layer or more")
    require(50 < percentile <= 100, "percentile", percentile, "above 50 and at most 100")
    layered = LayeredFiles(
        model,
        Conversions(model, representative=representative, output=output),
        measured,
        lambda made: predictions_of(
            {"model": made}, examples, batch_size=batch_size, output=output
        )["model"],
        kind=kind,
        percentile=percentile,
    )
    show = sys.stderr.isatty() if progress is None else progress
    rows = [
        layered.row(name, mode)
        for name in rich.progress.track(list(measured), "layers", disable=not show)
    ]
    table = pd.DataFrame(rows)
    table.insert(
        list(table).index("avoided_p") + 1,
        "avoided_p_holm",
        adjust(table["avoided_p"].to_numpy(), "holm"),
    )
    return QuantizationSensitivity(
        sensitive_first(table, mode),
        layered.plain,
        mode,
        layered.size,
        time.perf_counter() - begin,
        layered.operators,
    )


def sensitive_first(table: pd.DataFrame, mode: str = "all_but_one") -> pd.DataFrame:
    """Sort rows of `LayeredFiles.row`, the most sensitive layer first."""
    order = ["negative_flips", "change_pp", "changed"]
    ascending = [mode == "all_but_one", mode == "only_one", mode == "all_but_one"]
    return table.sort_values(order, ascending=ascending, kind="stable").reset_index(drop=True)


class LayeredFiles:
    """Files of a model that is converted once, each with a single layer in another type than all others.

    Args:
        model: a built Keras 3 model.
        conversions: conversions of the model.
        layers: layers to measure, by name.
        predictions: function that returns the predictions of a model or flatbuffer on labelled examples.
        kind: "int8", which leaves other layers in float, or "int4", which leaves them in int8.
        percentile: percentile at which ranges end; 100 by default.

    Attributes:
        plain: the comparison of the float model with the file in which no layer is float.
        size: bytes of this file.
        operators: names of the operators of each layer, as `QuantizationSensitivity` has them.

    Raises:
        InputError: `quantize` refuses an argument, or a layer has no operators of its own.
        ConversionError: TensorFlow Lite cannot convert the model.
    """

    def __init__(
        self,
        model: keras.Model,
        conversions: Conversions,
        layers: Mapping[str, keras.layers.Layer],
        predictions: Callable[[Any], Predictions],
        *,
        kind: str = "int8",
        percentile: float = 100.0,
    ) -> None:
        self._predicted, self._conversions, self._layers = predictions, conversions, [*layers]
        self._kind = kind
        self._operators: Mapping[str, Sequence[str]] = {}
        if kind == "int8":
            self._source, self._operators = conversions.calibrated(layers, percentile)
        from tfaudit.compress.litert.marked_layers import unmarked  # loads TensorFlow

        self.operators = {
            name: tuple(dict.fromkeys(one for own in operators for one in (own, unmarked(own))))
            for name, operators in self._operators.items()
        }
        plain = self._file("", "all_but_one")
        self._before, self._plainly = self._predicted(model), self._predicted(plain)
        self.plain, self.size = compare(self._before, self._plainly), len(plain)

    def row(self, name: str, mode: str = "all_but_one") -> dict[str, Any]:
        """Return the columns of `QuantizationSensitivity.frame` for a layer, except `avoided_p_holm`."""
        content = self._file(name, mode)
        after = self._predicted(content)
        pair = compare(self._before, after)
        summary = pair.summary()
        avoided = float(self.plain.overall.lost - pair.overall.lost)
        p = compare(self._plainly, after).overall.p if mode == "all_but_one" else np.nan
        return {
            "layer": name,
            "operators": len(self._operators[name]) if self._kind == "int8" else np.nan,
            "bytes": len(content),
            **{name: summary[name] for name in COMPARED},
            "class_divergence": class_divergence(self._before, after),
            "changed": summary["flips"],
            "avoided": avoided if mode == "all_but_one" else np.nan,
            "avoided_p": p,
        }

    def loss(self, name: str, dtype: str) -> float:
        """Return how much farther than int8 the type of one layer's weights moves the class that moves most, nats."""
        types = {one: dtype if one == name else "int8" for one in self._layers}
        if dtype == self._kind:
            del types[name]
        after = self._predicted(self._conversions.file(self._kind, layer_types=types))
        return class_divergence(self._before, after) - self._of_eight

    @functools.cached_property
    def _of_eight(self) -> float:
        """How far the file in which all layers are int8 moves the class that moves most, nats."""
        types = dict.fromkeys(self._layers, "int8")
        after = self._predicted(self._conversions.file(self._kind, layer_types=types))
        return class_divergence(self._before, after)

    def _file(self, name: str, mode: str) -> bytes:
        """Return the file in which all layers but one, or only one, are quantized; without a name, all of them."""
        if self._kind != "int8":
            wider = [one for one in self._layers if (one == name) == (mode == "all_but_one")]
            return self._conversions.file(self._kind, layer_types=dict.fromkeys(wider, "int8"))
        own = set(self._operators.get(name, ()))
        in_float = own if mode == "all_but_one" else {*self._source.operators.operands} - own
        with captured_output():
            return self._source.quantized(sorted(in_float))
