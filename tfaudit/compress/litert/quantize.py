"""Post-training quantization to TensorFlow Lite; every conversion is compared with Keras."""

import contextlib
import dataclasses
import functools
import itertools
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from tfaudit.compress.calibration_data import calibration_inputs
from tfaudit.compress.kept_state import from_initial_state, reset_states
from tfaudit.compress.keras_model import (
    KerasForward,
    chosen_output,
    float32_compute,
    layers_by_name,
    require_tensorflow,
)
from tfaudit.compress.last_layers import kept_layers, last_layers
from tfaudit.compress.litert.conversion_error import (
    IN_FLOAT32,
    UNLIKE_FLOAT32,
    ConversionError,
    conversion_error,
    named,
)
from tfaudit.compress.litert.flatbuffer import Flatbuffer
from tfaudit.compress.litert.in_tensorflow import quantized_in_tensorflow
from tfaudit.compress.litert.operators import float_operators
from tfaudit.compress.litert.own_ranges import (
    exporting,
    is_quantization_aware,
    require_ranges,
)
from tfaudit.compress.litert.selective import Calibrated, Operators, marked
from tfaudit.compress.model_files import load_keras
from tfaudit.compress.model_inputs import OPEN_SIDE, Inputs, as_inputs, file_names
from tfaudit.compress.pruning.kernels import EMBEDDINGS, KERNELS, find_kernels, owners
from tfaudit.errors import InputError, listed, require, require_least, require_one_of
from tfaudit.extensions import load
from tfaudit.runtime.captured_output import captured_output
from tfaudit.runtime.garbage_collection import skip_existing_objects
from tfaudit.runtime.keras_internals import layers_in
from tfaudit.runtime.tensorflow_internals import set_calibrate_only
from tfaudit.study.quantization import FLOAT, IO_TYPES, KINDS, LAYER_TYPES

CALIBRATION_IMAGES = 100
CHECK_IMAGES = 4
LEAST_SPREAD = 0.05
"""Spread of rescaled representative images, normally 1 or 2, below which they were scaled twice."""

MOST_SPREAD, PIXEL_SCALE = 20, 0.02
"""Spread of rescaled images above which they are not pixels, and largest scale for pixels (1/255 to 1/57)."""

TOLERANCE = 1e-3
"""Largest difference between flatbuffer and Keras, as a share of the largest score; rounding causes 1e-5."""

AWARE = "int8"
"""Kind that quantization-aware models are converted to."""

AWARE_TOLERANCE = 0.2
"""Tolerance for the int8 flatbuffer of a quantization-aware model: steps of integers add up, to .15 in MobileNetV3."""


_WRONG_IN_16_BITS = (
    keras.layers.Embedding,  # tokens cannot be calibrated
    keras.layers.LayerNormalization,  # has no kernel
    keras.layers.UnitNormalization,  # runs, and gives other scores
)
"""Layers that TensorFlow Lite cannot convert to int16x8, or LiteRT not run correctly."""


_TAKES_INTEGERS = (
    keras.layers.Embedding,
    keras.layers.Hashing,
    keras.layers.IntegerLookup,
    keras.layers.CategoryEncoding,
    keras.layers.HashedCrossing,
)
"""Layers that may take the inputs of a subclassed model, and that floats would change."""


_LOOKUPS = (
    keras.layers.TextVectorization,
    keras.layers.StringLookup,
    keras.layers.IntegerLookup,
    keras.layers.Hashing,
    keras.layers.HashedCrossing,
)
"""Layers that TensorFlow Lite has no operators for."""


_Groups = Mapping[str, Sequence[Any]]
"""Layers by the name of their group."""


def quantize(
    model: keras.Model | str | Path,
    kind: str,
    *,
    representative: Any = None,
    float_layers: Iterable[str] | str = (),
    layer_types: Mapping[str, str] | None = None,
    calibration_examples: int = CALIBRATION_IMAGES,
    percentile: float = 100.0,
    per_channel: bool = True,
    sparse: bool = False,
    io: str = FLOAT,
    output: str | None = None,
    check: Callable[[], None] | None = None,
) -> bytes:
    """Convert a Keras model to the bytes of a flatbuffer, without training, [F] appendix A.

    For every kind, the float32 flatbuffer is first compared with Keras on four images, since converters have had silent
    regressions. That costs a second conversion (0.25 s for a small convnet). Models in mixed precision are
    converted from their float32 weights. The converter's messages are captured at the file descriptors, together with
    output of other threads, and shown only if it fails. Equal models give equal bytes, but these include layer names:
    name the layers explicitly to compare bytes or sizes.

    `sparse` stores pruned kernels without their zeros (`tf.lite.Optimize.EXPERIMENTAL_SPARSITY`). The file becomes
    smaller, about as much as with gzip, and never faster: LiteRT restores the zeros when it loads the file. Its scores
    are compared with the dense file's. LiteRT 2.3 runs sparse float32 kernels, and sparse float16 kernels unless their
    zeros form blocks of four, but no integer kernels. If it runs the sparse model incorrectly, an error is raised.

    Inputs and outputs have the same names in the file's signature as in the model. An LSTM or GRU is converted for
    batches of one, as TensorFlow Lite requires; batches of any size and "int8" need `unroll=True`.

    "int4" takes the float32 file and stores its weights with LiteRT Quantizer (extra `quantizer`): as int4 with a scale
    per channel, or as int8 where LiteRT has no int4, as in depthwise convolutions. Each weight takes the nearest value
    or, with representative images, one that changes the layer's results least, which loses far
    less. Weights that stay in float are told in a `Notice`.

    If Keras runs on JAX or torch, a process that runs it on TensorFlow converts the model from a `.keras` file.

    A model of `quantization_aware` needs no representative images: it is converted to "int8" with the ranges that it
    learned, and the int8 flatbuffer itself is compared with Keras.

    Args:
        model: a built Keras 3 model, which does not change, or the path of a `.keras` file.
        kind: kind of quantization, a name of `tfaudit.study.quantization.KINDS` such as "float16" or "int8".
        representative: training images `(N, H, W, C)`, uint8 or float, as the model's input takes them, or for several
            inputs a dictionary or tuple of arrays, as for `predict`; a pair of these and labels; a `tfaudit` data set;
            or batches or single examples of these in any form that Keras takes, such as a `tf.data.Dataset`, a
            `PyDataset` or a generator, of which up to 100,000 examples are read. Required for "int8" and "int16x8".
            `calibration_examples` of them are drawn: with labels of every class, without labels from all parts of the
            data, which may be sorted. The check uses four of these, or by default seeded noise in [0, 1) (0 to 255 for
            an integer input, or an Embedding's tokens; 64 pixels for an open side). A subclassed model that may take
            integers needs them, too, since their type becomes that of the file's inputs.
        float_layers: names of layers whose weights and results stay in float, for "int8" and "int4"; see
            `quantization_sensitivity`. Operators that TensorFlow Lite fuses with theirs stay in float too. The word
            "last" stands for the last layers with a kernel and all that follows them, so that scores are not rounded
            to 256 steps, in which the best ones often tie; a layer of that name is `["last"]`. No layers by default.
        layer_types: types of the weights of single layers by name, "int8" or "float16", for "int4" only.
        calibration_examples: number of representative images that ranges come from, 100 by default; of no more
            images, all.
        percentile: percentile p in (50, 100], for "int8" only: ranges end at the percentiles 100 - p and p of the
            values, and values beyond are clipped. By default they end at the lowest and the highest value.
        per_channel: whether each channel of a kernel has a scale of its own, for "int8" only. False gives each kernel
            one scale, as hardware without scales per channel computes it (dense layers repeat it).
        sparse: whether to store kernels with many zeros (from about a third) without them. Other kernels do not change.
        io: type of inputs and outputs, for "int8" only: "float32", or for a full-integer file, which microcontrollers
            and NPUs need, "int8" or "uint8". `predict` converts them with the scales in the file. Tokens stay integers
            of their own type.
        output: name of the only output to convert, as for `predict`; None converts all.
        check: function called before every conversion and calibration step (once, at first, if Keras runs on JAX or
            torch); a `BaseException` that it raises ends them.

    Raises:
        InputError: the kind is unknown, representative images are missing, the model, layers or images do not fit, the
            images have another range than the model's own rescaling expects, a full-integer file would hold floats, or
            LiteRT Quantizer is missing or leaves all weights in float.
        ConversionError: the conversion failed, the float32 flatbuffer differs from Keras, or the sparse one does not
            run or differs from the dense one.

    >>> import keras, numpy as np
    >>> images = np.random.default_rng(0).integers(0, 256, (8, 8, 8, 1), "uint8")
    >>> model = keras.Sequential([keras.Input((8, 8, 1)), keras.layers.Flatten(), keras.layers.Dense(10)])
    >>> quantize(model, "int8", representative=images)[4:8]
    b'TFL3'
    """
    require_one_of("kind", kind, KINDS)
    require_least(1, calibration_examples=calibration_examples)
    source = {
        "representative": representative,
        "calibration_examples": calibration_examples,
        "output": output,
    }
    file = {
        "float_layers": float_layers,
        "layer_types": layer_types,
        "percentile": percentile,
        "per_channel": per_channel,
        "sparse": sparse,
        "io": io,
    }
    if keras.backend.backend() == "tensorflow":
        with skip_existing_objects():  # a trace holds 7 MB for a LeNet
            return Conversions(model, check=check, **source).file(kind, **file)  # type: ignore[arg-type]
    if check is not None:
        check()
    if representative is not None:
        opened = load_keras(Path(model)) if isinstance(model, str | Path) else model
        inputs = _forward(opened, output).inputs
        drawn = calibration_inputs(representative, inputs, calibration_examples)
        source["representative"] = drawn
    return quantized_in_tensorflow(model, kind, source | file)


def _check_kind(
    model: keras.Model, kind: str, quantization_aware: bool, *, has_images: bool
) -> None:
    """Raise an `InputError` if a kind does not fit a quantization-aware model, or calibration images are missing."""
    if quantization_aware:
        if kind != AWARE:
            raise InputError("kind", f"{kind!r} for a quantization-aware model", repr(AWARE))
        require_ranges(model)
    elif KINDS[kind].calibrated and not has_images:
        expected = f"training images (N, H, W, C) for kind {kind!r}"
        raise InputError("representative", "None", expected)


def _check_options(
    kind: str,
    quantization_aware: bool,
    kept: _Groups,
    layer_types: Mapping[str, str],
    percentile: float,
    *,
    per_channel: bool,
    sparse: bool,
    io: str,
) -> None:
    """Raise an `InputError` for an option that is unknown or does not fit the kind."""
    packed = [name for name, settings in KINDS.items() if settings.bits]
    require(isinstance(sparse, bool), "sparse", sparse, "True or False")
    require(isinstance(per_channel, bool), "per_channel", per_channel, "True or False")
    require_one_of("io", io, IO_TYPES)
    require(50 < percentile <= 100, "percentile", percentile, "above 50 and at most 100")
    for name in layer_types.values():
        require_one_of("layer_types", name, LAYER_TYPES)
    if kept:
        _require_kind("float_layers", kind, quantization_aware, "int8", *packed)
    if layer_types:
        _require_kind("layer_types", kind, quantization_aware, *packed)
    if percentile < 100:
        _require_kind("percentile", kind, quantization_aware, "int8")
    if not per_channel:
        _require_kind("per_channel", kind, quantization_aware, "int8")
    if io != FLOAT and kind != "int8":
        raise InputError("io", f"{io!r} for kind {kind!r}", f"{FLOAT!r}, or kind 'int8'")
    if sparse and kind in packed:
        raise InputError("sparse", f"True for kind {kind!r}", "False")


def _require_kind(argument: str, kind: str, quantization_aware: bool, *kinds: str) -> None:
    """Raise an `InputError` about an option unless the model is quantized to one of some kinds after training."""
    if quantization_aware:
        expected = "quantization_aware(model, float_layers=...)"
        raise InputError(argument, "a quantization-aware model", expected)
    if kind not in kinds:
        raise InputError(argument, f"kind {kind!r}", "kind " + " or ".join(map(repr, kinds)))


def _forward(model: Any, output: str | None) -> KerasForward:
    """Return the inference of a model; without a named output, of its first one, though all are converted."""
    return KerasForward(model, output) if output else KerasForward.of_first_output(model)


@dataclasses.dataclass
class _Trace:
    """A model that was traced and written as a SavedModel, and what was made of it already.

    Attributes:
        converter: converter of the SavedModel, which may convert it several times.
        layers: layers that were marked.
        float32: float32 file, after it was compared with Keras.
    """

    converter: Any
    layers: list[Any]
    float32: bytes = b""
    calibrated: Calibrated | None = None
    histograms: dict[int, Any] | None = None
    packed: dict[str, Any] = dataclasses.field(default_factory=dict)

    def operators_of(self, operators: Operators, groups: _Groups, argument: str) -> list[str]:
        """Return the names of the operators of groups of layers; raise an `InputError` if a group has none."""
        found = []
        for name, layers in groups.items():
            own = operators.of(*map(self.layers.index, layers))
            if not own:
                got = f"{name!r}, which has no operator of its own"
                raise InputError(argument, got, "another layer")
            found += own
        return found


class Conversions:
    """Files of one model, which is traced, converted to float32, compared with Keras and calibrated once for all.

    All files with layers in float or of other types share a second trace, in which layers are marked.

    Args:
        model: a built Keras 3 model, which does not change, or the path of a `.keras` file.
        representative: training images, as for `quantize`.
        calibration_examples: number of representative images that ranges come from.
        output: name of the only output to convert; None converts all.
        check: function called before every conversion and every step of calibration.

    Raises:
        InputError: the model cannot be used.

    >>> conversions = Conversions(keras.Sequential([keras.Input((4,)), keras.layers.Dense(2)]))
    >>> [len(conversions.file(kind)) < 3000 for kind in ("float32", "float16")]
    [True, True]
    """

    def __init__(
        self,
        model: keras.Model | str | Path,
        *,
        representative: Any = None,
        calibration_examples: int = CALIBRATION_IMAGES,
        output: str | None = None,
        check: Callable[[], None] | None = None,
    ) -> None:
        require_least(1, calibration_examples=calibration_examples)
        require_tensorflow()
        opened = load_keras(Path(model)) if isinstance(model, str | Path) else model
        self._forward = _forward(opened, output)
        self._representative, self._examples = representative, calibration_examples
        self._output, self._check = output, check or (lambda: None)
        self._batch = self._forward.batch
        self._quantization_aware = is_quantization_aware(self._forward.model)
        self._traces: dict[tuple[int, ...], _Trace] = {}

    def file(
        self,
        kind: str,
        *,
        float_layers: Iterable[str] | str = (),
        layer_types: Mapping[str, str] | None = None,
        percentile: float = 100.0,
        per_channel: bool = True,
        sparse: bool = False,
        io: str = FLOAT,
    ) -> bytes:
        """Return the file of some kind; arguments and errors are those of `quantize`."""
        model = self._forward.model
        require_one_of("kind", kind, KINDS)
        _check_kind(
            model, kind, self._quantization_aware, has_images=self._representative is not None
        )
        types = layer_types or {}
        kept = kept_layers(model, float_layers, self._output)
        typed = layers_by_name(model, types, "layer_types")
        _check_options(
            kind,
            self._quantization_aware,
            kept,
            types,
            percentile,
            per_channel=per_channel,
            sparse=sparse,
            io=io,
        )
        groups = {
            dtype: {name: [layer] for name, layer in typed.items() if types[name] == dtype}
            for dtype in LAYER_TYPES
        } | {FLOAT: kept}
        check_layers(model, kind)
        return self._with_batch(
            lambda: self._made(kind, groups, percentile, per_channel, sparse, io)
        )

    def _made(
        self,
        kind: str,
        groups: Mapping[str, _Groups],
        percentile: float,
        per_channel: bool,
        sparse: bool,
        io: str,
    ) -> bytes:
        """Return the file of some kind, with groups of layers of other types by type."""
        bits = KINDS[kind].bits
        named = [*itertools.chain(*(itertools.chain(*one.values()) for one in groups.values()))]
        trace = self._trace(kind, named, marks=bool(named))
        if bits:
            return self._packed(trace, kind, groups)
        with _captured(kind, self._forward.model):
            if groups[FLOAT] or percentile < 100 or not per_channel:
                ranges = self._calibrated(trace, percentile)
                in_float = trace.operators_of(ranges.operators, groups[FLOAT], "float_layers")
                dense = ranges.quantized(in_float, per_channel=per_channel, io=io)
            elif kind == "float32":
                dense = trace.float32
            else:
                dense = self._converted(trace.converter, kind, io=io)
            content = dense
            if sparse:
                content = self._converted(trace.converter, kind, sparse=True, io=io)
        if io != FLOAT and (floats := float_operators(content)):
            got = f"{io!r} for a model that computes floats in {listed(floats)}"
            raise InputError("io", got, f"{FLOAT!r}, or float inputs and no layers in float")
        if self._quantization_aware:
            self._compare(dense, kind)
        if sparse:
            _check_sparse(dense, content, kind, self._named(self._some))
        else:
            self._run(content, kind)
        return content

    def _run(self, content: bytes, kind: str) -> None:
        """Run a file as `predict` does; raise a `ConversionError` if LiteRT cannot."""
        try:
            Flatbuffer(content).run(self._named(self._some))
        except InputError as error:
            raise ConversionError("model", error.got, f"{error.expected} as {kind!r}") from error

    def calibrated(
        self, layers: Mapping[str, Any], percentile: float = 100.0
    ) -> tuple[Calibrated, dict[str, list[str]]]:
        """Return the calibrated float flatbuffer, and the operators of some layers by their names.

        Raises:
            InputError: the model or the images do not fit.
            ConversionError: TensorFlow Lite cannot convert the model.
        """
        check_layers(self._forward.model, "int8")

        def made() -> tuple[Calibrated, dict[str, list[str]]]:
            trace = self._trace("int8", layers.values(), marks=True)
            with _captured("int8", self._forward.model):
                ranges = self._calibrated(trace, percentile)
            own = {
                name: trace.operators_of(ranges.operators, {name: [layer]}, "layers")
                for name, layer in layers.items()
            }
            return ranges, own

        return self._with_batch(made)

    @functools.cached_property
    def images(self) -> list[np.ndarray]:
        """The representative images, or seeded noise."""
        if self._representative is None:
            _require_known_types(self._forward)
            return self._forward.drawn(self._forward.batch or CHECK_IMAGES)
        images = _checked(self._representative, self._forward, self._examples)
        _check_rescaling(self._forward.model, images[0])
        return images

    def feeds(self) -> list[Inputs]:
        """Return the representative images in steps, one per run."""
        step = self._batch or 1
        starts = range(0, len(self.images[0]) - step + 1, step)
        return [self._named([array[i : i + step] for array in self.images]) for i in starts]

    def _checked_feeds(self) -> Iterator[Inputs]:
        for feed in self.feeds():
            self._check()
            yield feed

    @functools.cached_property
    def _names(self) -> list[str]:
        """Names of the inputs in the file."""
        forward = self._forward
        return file_names([source.name for source in forward.inputs], ordered=forward.ordered)

    def _named(self, images: Sequence[np.ndarray]) -> Any:
        """Return inputs by their names in the file's signature; a single one as it is."""
        return dict(zip(self._names, images, strict=True)) if len(images) > 1 else images[0]

    @property
    def _some(self) -> list[np.ndarray]:
        """The inputs on which files are compared."""
        return [array[: self._batch or CHECK_IMAGES] for array in self.images]

    def _with_batch(self, made: Callable[[], Any]) -> Any:
        """Return what a function makes; again with batches of one if a recurrent layer needs a known size."""
        with float32_compute(self._forward.model):
            try:
                return made()
            except ConversionError as error:
                if "TensorListReserve" not in str(error) or self._batch is not None:
                    raise
                self._batch = 1
                self._traces.clear()
                return made()
            except tf.errors.InvalidArgumentError:
                open_sides = any(None in source.shape for source in self._forward.inputs)
                if self._representative is not None or not open_sides:
                    raise
                name = self._forward.model.name
                got = f"None, and {name!r} takes no inputs of {OPEN_SIDE} along an open side"
                expected = "inputs of a size that the model takes"
                raise InputError("representative", got, expected) from None

    def _trace(self, kind: str, layers: Iterable[Any], *, marks: bool) -> _Trace:
        """Return a trace, compared with Keras; with `marks`, some layers, all with a kernel and the last are marked."""
        marked_layers = self._marks(layers) if marks else []
        key = tuple(map(id, marked_layers))
        if key not in self._traces:
            images = self.images
            folder = tempfile.mkdtemp()
            weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
            with _captured(kind, self._forward.model):
                with marked(marked_layers), exporting():
                    converter = self._converter(folder, images)
                trace = _Trace(converter, marked_layers)
                if not self._quantization_aware:
                    trace.float32 = self._converted(converter, "float32")
            if not self._quantization_aware:
                self._compare(trace.float32, kind)
            self._traces[key] = trace
        return self._traces[key]

    def _marks(self, layers: Iterable[Any]) -> list[Any]:
        """Return the layers to mark, the same ones whichever of them stay in float, so that names are the same."""
        model = self._forward.model
        usual = list(owners(model, find_kernels(model)).values())
        with contextlib.suppress(InputError):  # a subclassed model
            usual += last_layers(model, self._output)
        return list({id(layer): layer for layer in (*usual, *layers)}.values())

    def _converter(self, directory: str, images: list[np.ndarray]) -> Any:
        """Write the inference pass as a SavedModel and return its converter."""
        forward = self._forward
        output = self._output
        # `TFLiteConverter.from_keras_model` numbers a tensor by the models of the process, which changes the bytes;
        # `keras.export.ExportArchive` traces the model twice, which takes a fifth of a small model's conversion.
        # A subclassed model declares no sides and is converted for the sides of the images.
        declared = getattr(forward.model, "inputs", None)
        specs = []
        for source, name, array in zip(forward.inputs, self._names, images, strict=True):
            sides = source.shape if declared else array.shape[1:]
            shape = (self._batch, *sides)
            specs.append(tf.TensorSpec(shape, tf.as_dtype(array.dtype), name=name))
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
        return tf.lite.TFLiteConverter.from_saved_model(directory)

    def _converted(
        self,
        converter: Any,
        name: str,
        *,
        sparse: bool = False,
        calibrate_only: bool = False,
        io: str = FLOAT,
    ) -> bytes:
        """Return a file of some kind; with `calibrate_only`, one that holds ranges, and no integers yet."""
        kind = KINDS[name]
        self._check()
        optimizations = {
            tf.lite.Optimize.DEFAULT: kind.optimized,
            tf.lite.Optimize.EXPERIMENTAL_SPARSITY: sparse,
        }
        converter.optimizations = [optimization for optimization, on in optimizations.items() if on]
        converter.target_spec = tf.lite.TargetSpec(
            supported_types=[getattr(tf, dtype) for dtype in kind.types]
        )

        def feeds() -> Iterator[Any]:
            for feed in self._checked_feeds():
                yield feed if isinstance(feed, dict) else [feed]

        # The graph of a quantization-aware model holds its ranges.
        calibrates = kind.calibrated and not self._quantization_aware
        if calibrates:
            converter.target_spec.supported_ops = [
                getattr(tf.lite.OpsSet, operators) for operators in kind.operators
            ]
        converter.representative_dataset = feeds if calibrates else None
        converter.inference_input_type = converter.inference_output_type = getattr(tf, io)
        set_calibrate_only(converter, calibrate_only)
        with skip_existing_objects():  # garbage collection took half the time of a small model
            return bytes(converter.convert())

    def _calibrated(self, trace: _Trace, percentile: float) -> Calibrated:
        """Return the calibrated float flatbuffer, whose ranges end at percentiles."""
        if trace.calibrated is None:
            content = self._converted(trace.converter, "int8", calibrate_only=True)
            trace.calibrated = Calibrated(content)
        if percentile == 100:
            return trace.calibrated
        if trace.histograms is None:
            trace.histograms = trace.calibrated.histograms(self.feeds())
        return trace.calibrated.clipped(percentile, trace.histograms)

    def _packed(self, trace: _Trace, kind: str, groups: Mapping[str, _Groups]) -> bytes:
        """Return the float32 file with weights of fewer bits, which is run once."""
        self._check()
        operators = Operators(trace.float32)
        own = {
            dtype: trace.operators_of(
                operators, group, "float_layers" if dtype == FLOAT else "layer_types"
            )
            for dtype, group in groups.items()
        }
        if kind not in trace.packed:
            feeds = None if self._representative is None else self._checked_feeds()
            trace.packed[kind] = load(KINDS[kind].writer)(trace.float32, kind, feeds)
        content: bytes = trace.packed[kind].file(own)
        self._run(content, kind)
        return content

    def _compare(self, content: bytes, kind: str) -> None:
        """Raise a `ConversionError` unless the float32 file (int8 for quantization-aware models) agrees with Keras."""
        forward = self._forward
        with from_initial_state(forward.model):
            outputs = forward.call(*map(tf.convert_to_tensor, self._some))
        scores = Flatbuffer(content).all_outputs(self._named(self._some))
        names = (None,) if len(scores) == 1 and self._output is None else tuple(scores)
        stored, tolerance = (
            ("int8", AWARE_TOLERANCE) if self._quantization_aware else ("float32", TOLERANCE)
        )
        for name, found in zip(names, scores.values(), strict=True):
            expected = np.asarray(tf.cast(chosen_output(forward.model, outputs, name), tf.float32))
            if not np.isfinite(expected).all():
                got = f"{forward.model.name!r} with scores of NaN or infinity"
                raise InputError("model", got, "finite scores")
            if difference := _difference(found, expected, tolerance):
                got = f"{forward.model.name!r}, whose {stored} flatbuffer differs from Keras by up to {difference}"
                raise ConversionError("model", got, f"a correct conversion to {kind!r}")


@contextlib.contextmanager
def _captured(kind: str, model: keras.Model) -> Iterator[None]:
    """Convert silently; a failure becomes a `ConversionError`."""
    try:
        with captured_output():
            yield
    except (InputError, OSError, MemoryError):
        raise
    # Keras and the converter raise ConverterError, ValueError, RuntimeError and more.
    except Exception as error:
        raise conversion_error(error, model, kind) from None


def _checked(representative: Any, forward: KerasForward, examples: int) -> list[np.ndarray]:
    try:
        drawn = calibration_inputs(representative, forward.inputs, examples)
        arrays = forward.taken(as_inputs(drawn, forward.inputs, ordered=forward.ordered))
    except InputError as error:
        raise InputError(
            error.argument.replace("images", "representative"), error.got, error.expected
        ) from None
    if not all(np.isfinite(array).all() for array in arrays if array.dtype.kind == "f"):
        raise InputError("representative", "NaN or infinity", "finite values")
    least = forward.batch or 1
    return [np.resize(array, (max(len(array), least), *array.shape[1:])) for array in arrays]


def _require_known_types(forward: KerasForward) -> None:
    """Raise an `InputError` for a subclassed model that may take integers: its file would take floats."""
    unknown = [
        source.name
        for source, shape in zip(forward.inputs, forward.example_shapes, strict=True)
        if source.dtype is None and len(shape) < 3  # not images
    ]
    takers = [layer for layer in layers_in(forward.model) if isinstance(layer, _TAKES_INTEGERS)]
    if unknown and takers:
        got = f"None for the subclassed model {forward.model.name!r}, which does not tell the types of its inputs"
        raise InputError("representative", got, "inputs, such as training data")


def check_layers(model: keras.Model, kind: str) -> None:
    """Raise an `InputError` for layers that cannot be converted, some of them to integers only."""
    layers = layers_in(model)
    for layer in layers:
        _check_layer(layer)
    rnns = [layer for layer in layers if isinstance(layer, keras.layers.RNN)]
    loops = [layer.name for layer in rnns if not layer.unroll]
    if loops and KINDS[kind].calibrated:
        got = f"the recurrent layers {listed(loops)} for kind {kind!r}, on which TensorFlow Lite crashes"
        raise InputError("model", got, "unroll=True in these layers, or kind 'dynamic_range'")
    found = [layer.name for layer in layers if isinstance(layer, _WRONG_IN_16_BITS)]
    if found and kind == "int16x8":
        got = f"the embeddings or normalisations {listed(found)} for kind {kind!r}, which LiteRT cannot run"
        raise InputError("model", got, "kind 'int8' or 'dynamic_range'")


def _check_layer(layer: Any) -> None:
    """Raise an `InputError` for a layer of a class, mode or type that TensorFlow Lite cannot convert."""
    counts = isinstance(layer, keras.layers.CategoryEncoding) and layer.output_mode != "one_hot"
    if counts or isinstance(layer, _LOOKUPS):
        got = f"the layer {named(layer)}, which TensorFlow Lite cannot convert"
        expected = "a model that starts behind it, with its results as inputs"
        raise ConversionError("model", got, expected)
    if isinstance(layer, keras.Model):  # its layers follow
        return
    for weight in layer.variables:
        if weight.name in (*KERNELS, EMBEDDINGS) and weight.dtype in UNLIKE_FLOAT32:
            raise ConversionError(
                "model", f"the layer {named(layer)} in {weight.dtype}", IN_FLOAT32
            )


def _check_rescaling(model: keras.Model, images: np.ndarray) -> None:
    """Raise an `InputError` if the model's own `Rescaling` makes images nearly constant, or far too large."""
    computing = (one for one in model.layers if not isinstance(one, keras.layers.InputLayer))
    first = next(computing, None)
    varied = images.dtype.kind == "f" and images.min() < images.max()
    if not isinstance(first, keras.layers.Rescaling) or not varied:
        return
    scale = float(np.max(np.abs(first.scale)))
    spread = float(np.ptp(images)) * scale
    too_wide = spread > MOST_SPREAD and scale < PIXEL_SCALE
    if too_wide or spread < LEAST_SPREAD:
        got = f"values from {images.min():g} to {images.max():g}"
        wanted = "a narrower" if too_wide else "a wider"
        reason = f"the model multiplies them by {scale:.3g} itself"
        raise InputError("representative", got, f"{wanted} range, such as 0 to 255: {reason}")


def _check_sparse(dense: bytes, sparse: bytes, kind: str, images: Inputs) -> None:
    got = f"True for kind {kind!r}, whose kernels LiteRT does not run"
    expected = "False, and gzip for a smaller file"
    try:
        scores = Flatbuffer(sparse, falls_back=False).all_outputs(images)
    except InputError as error:
        reason = f"without their zeros ({error.got})"
        raise ConversionError("sparse", f"{got} {reason}", expected) from error
    for name, right in Flatbuffer(dense).all_outputs(images).items():
        if difference := _difference(scores[name], right):
            reason = f"correctly without their zeros: they differ from the dense ones by up to {difference}"
            raise ConversionError("sparse", f"{got} {reason}", expected)


def _difference(scores: np.ndarray, expected: np.ndarray, tolerance: float = TOLERANCE) -> str:
    """Return the largest difference as text, or an empty text if it is within the tolerance."""
    allowed = tolerance * float(np.abs(expected).max()) + 1e-6
    difference = (
        float(np.abs(scores - expected).max()) if scores.shape == expected.shape else np.inf
    )
    text = f"{difference:.3g} on {len(expected)} images, allowed is {allowed:.3g}"
    return "" if difference <= allowed else text  # NaN is not allowed either
