"""TensorFlow's own converter: the route from Keras to a float32 file, and files of every kind, while it exists.

Its maintainers say that `tf.lite` will leave TensorFlow (https://github.com/tensorflow/tensorflow/issues/102071). Then
this file goes, with `tfaudit.runtime.tensorflow_internals.quantize_calibrated`; `litert_quantizer` makes all kinds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf
from ai_edge_litert import schema_py_generated as schema

from tfaudit.compress.kept_state import reset_states
from tfaudit.compress.keras_model import KerasForward, chosen_output
from tfaudit.compress.litert.activation_ranges import histograms, percentile_range
from tfaudit.compress.litert.file_settings import FileSettings
from tfaudit.compress.litert.flatbuffer import Flatbuffer
from tfaudit.compress.litert.marked_layers import Operators
from tfaudit.compress.model_inputs import Inputs
from tfaudit.runtime.garbage_collection import skip_existing_objects
from tfaudit.runtime.tensorflow_internals import quantize_calibrated, set_calibrate_only
from tfaudit.study.quantization import FLOAT, KINDS


def save_inference(
    forward: KerasForward,
    names: Sequence[str],
    arrays: Sequence[np.ndarray],
    directory: str,
    *,
    batch: int | None = None,
    output: str | None = None,
) -> None:
    """Write the inference pass of a model as a SavedModel.

    Args:
        forward: inference of the model.
        names: names of the inputs in the file.
        arrays: examples of the inputs, whose types are those of the file.
        directory: where to write it.
        batch: fixed batch size, or None.
        output: name of the only output to write; None writes all.
    """
    # `TFLiteConverter.from_keras_model` numbers a tensor by the models of the process, which changes the bytes
    # (https://github.com/tensorflow/tensorflow/issues/55512);
    # `keras.export.ExportArchive` traces the model twice, which takes a fifth of a small model's conversion.
    # A subclassed model declares no sides and is converted for the sides of the images.
    declared = getattr(forward.model, "inputs", None)
    specs = []
    for source, name, array in zip(forward.inputs, names, arrays, strict=True):
        sides = source.shape if declared else array.shape[1:]
        specs.append(tf.TensorSpec((batch, *sides), tf.as_dtype(array.dtype), name=name))
    several = len(forward.outputs) > 1 or output is not None

    def serve(*tensors: object) -> object:
        outputs = forward.call(*tensors)
        if output is not None:
            return {output: chosen_output(forward.model, outputs, output)}
        if several and not isinstance(outputs, dict):
            return dict(zip(forward.outputs, outputs, strict=True))
        return outputs

    traced = tf.function(serve, input_signature=specs, autograph=False).get_concrete_function()
    module = tf.Module()
    descendants = tf.train.TrackableView(forward.model).descendants()
    resource = tf.saved_model.experimental.TrackableResource
    tables = [item for item in descendants if isinstance(item, resource)]
    module.state = [*traced.variables, *tables]
    with reset_states(forward.model):
        tf.saved_model.save(module, directory, signatures=traced)


class TensorFlowLite:
    """Files of a SavedModel, which is calibrated once.

    Args:
        directory: folder of the SavedModel.
        feeds: inputs of each run that measures activations, read once or twice.
        check: function called before every conversion.
        has_ranges: whether the model brings the ranges of its activations.
    """

    def __init__(
        self,
        directory: str,
        feeds: Iterable[Inputs],
        check: Callable[[], None],
        *,
        has_ranges: bool = False,
    ) -> None:
        self._converter = tf.lite.TFLiteConverter.from_saved_model(directory)
        self._feeds, self._check, self._has_ranges = feeds, check, has_ranges
        self._calibrated: Calibrated | None = None
        self._histograms: dict[int, tuple[np.ndarray, np.ndarray]] | None = None

    @property
    def operators(self) -> Operators:
        """The operators that may stay in float."""
        return self.calibrated().operators

    def file(self, settings: FileSettings, types: Mapping[str, Iterable[str]]) -> bytes:
        """Return a file in which some operators stay in float.

        Args:
            settings: settings of the file.
            types: names of operators by the type of their weights, of which this converter knows "float32".
        """
        in_float = list(types.get(FLOAT, ()))
        if not settings.sparse and (
            in_float or settings.percentile < 100 or not settings.per_channel
        ):
            return self.calibrated(settings.percentile).quantized(
                in_float, per_channel=settings.per_channel, io=settings.io
            )
        return self._converted(settings)

    def calibrated(self, percentile: float = 100.0) -> Calibrated:
        """Return the float flatbuffer with ranges that end at a percentile of the values."""
        if self._calibrated is None:
            self._calibrated = Calibrated(
                self._converted(FileSettings("int8"), calibrate_only=True)
            )
        if percentile == 100:
            return self._calibrated
        if self._histograms is None:
            self._histograms = self._calibrated.histograms(self._feeds)
        return self._calibrated.clipped(percentile, self._histograms)

    def _converted(self, settings: FileSettings, *, calibrate_only: bool = False) -> bytes:
        """Return a file; with `calibrate_only`, one that holds ranges, and no integers yet."""
        kind, converter = KINDS[settings.kind], self._converter
        self._check()
        optimizations = {
            tf.lite.Optimize.DEFAULT: kind.optimized,
            tf.lite.Optimize.EXPERIMENTAL_SPARSITY: settings.sparse,
        }
        converter.optimizations = [optimization for optimization, on in optimizations.items() if on]
        converter.target_spec = tf.lite.TargetSpec(
            supported_types=[getattr(tf, dtype) for dtype in kind.types]
        )

        def feeds() -> Iterator[Any]:
            for feed in self._feeds:
                yield feed if isinstance(feed, dict) else [feed]

        calibrates = kind.calibrated and not self._has_ranges
        if calibrates:
            converter.target_spec.supported_ops = [
                getattr(tf.lite.OpsSet, operators) for operators in kind.operators
            ]
        converter.representative_dataset = feeds if calibrates else None
        converter.inference_input_type = converter.inference_output_type = getattr(tf, settings.io)
        set_calibrate_only(converter, calibrate_only)
        with skip_existing_objects():  # garbage collection took half the time of a small model
            return bytes(converter.convert())


class Calibrated:
    """Float flatbuffer with the ranges of its activations, as the converter makes it before it quantizes.

    Attributes:
        operators: the operators of the file.
    """

    def __init__(self, content: bytes) -> None:
        self._content = bytearray(content)
        self.operators = Operators(content)

    def clipped(
        self, percentile: float, histograms: Mapping[int, tuple[np.ndarray, np.ndarray]]
    ) -> Calibrated:
        """Return a copy whose ranges end at the percentiles 100 - p and p of the values for some examples.

        Args:
            percentile: percentile p, above 50 and at most 100.
            histograms: histograms of these values, as `histograms` returns them.
        """
        made = Calibrated(bytes(self._content))
        ranges = made._ranges()
        for index, histogram in histograms.items():
            low, high = ranges[index]
            low[0], high[0] = percentile_range(*histogram, percentile)
        return made

    def histograms(self, feeds: Iterable[Inputs]) -> dict[int, tuple[np.ndarray, np.ndarray]]:
        """Return the histogram of every tensor's values, by its index.

        Args:
            feeds: inputs of each run.
        """
        ranges = {
            index: (float(low[0]), float(high[0])) for index, (low, high) in self._ranges().items()
        }
        return histograms(self.network(observed=True), ranges, feeds)

    def network(self, *, observed: bool = False) -> Flatbuffer:
        """Return the float network."""
        return Flatbuffer(bytes(self._content), observed=observed)

    def _ranges(self) -> dict[int, tuple[np.ndarray, np.ndarray]]:
        """Return views of the ranges of all tensors that have one and are not constant."""
        graph = schema.Model.GetRootAs(self._content, 0).Subgraphs(0)
        ranges = {}
        for index in range(graph.TensorsLength()):
            quantization = graph.Tensors(index).Quantization()
            if quantization is not None and quantization.MinLength() == 1:
                low = quantization.MinAsNumpy()
                high = quantization.MaxAsNumpy()
                if low[0] < high[0]:
                    ranges[index] = low, high
        return ranges

    def quantized(
        self,
        float_operators: Iterable[str] = (),
        *,
        per_channel: bool = True,
        io: str = FLOAT,
    ) -> bytes:
        """Return the int8 flatbuffer.

        Args:
            float_operators: names of operators that stay in float.
            per_channel: whether each channel of a kernel has a scale of its own.
            io: type of inputs and outputs.
        """
        return quantize_calibrated(
            bytes(self._content), float_operators, per_channel=per_channel, io=io
        )
