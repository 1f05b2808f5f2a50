"""Files of one model in two steps: a route to the float32 file, and a quantizer that makes the files of all kinds.

The route is TensorFlow Lite; on JAX, where no trace of TensorFlow exists, `stablehlo` is the other one. Quantizers are
TensorFlow Lite again, LiteRT Quantizer, and the writers of kinds that extensions add.
"""

import contextlib
import dataclasses
import functools
import itertools
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import keras
import numpy as np
import tensorflow as tf

from tfaudit.compress.calibration_data import CALIBRATION_IMAGES, CHECKED_IMAGES, calibration_inputs
from tfaudit.compress.kept_state import from_initial_state
from tfaudit.compress.keras_model import (
    KerasForward,
    chosen_output,
    float32_compute,
    layers_by_name,
    require_tensorflow,
)
from tfaudit.compress.last_layers import kept_layers, last_layers
from tfaudit.compress.litert.conversion_error import ConversionError, conversion_error
from tfaudit.compress.litert.convertible_layers import check_layers
from tfaudit.compress.litert.file_settings import FileSettings
from tfaudit.compress.litert.flatbuffer import Flatbuffer
from tfaudit.compress.litert.learned_ranges import (
    exporting,
    is_quantization_aware,
    require_ranges,
)
from tfaudit.compress.litert.litert_quantizer import quantizer_of
from tfaudit.compress.litert.marked_layers import Operators, marked
from tfaudit.compress.litert.operators import float_operators
from tfaudit.compress.litert.tensorflow_lite import Calibrated, TensorFlowLite, save_inference
from tfaudit.compress.model_files import load_keras
from tfaudit.compress.model_inputs import OPEN_SIDE, Inputs, as_inputs, file_names
from tfaudit.compress.pruning.kernels import find_kernels, owners
from tfaudit.errors import InputError, listed, require_least
from tfaudit.runtime.captured_output import captured_output
from tfaudit.runtime.keras_internals import layers_in
from tfaudit.study.quantization import FLOAT, KINDS, LAYER_TYPES, LITERT

LEAST_SPREAD = 0.05
"""Spread of rescaled representative images, normally 1 or 2, below which they were scaled twice."""

MOST_SPREAD, PIXEL_SCALE = 20, 0.02
"""Spread of rescaled images above which they are not pixels, and largest scale for pixels (1/255 to 1/57)."""

TOLERANCE = 1e-3
"""Largest difference between flatbuffer and Keras, as a share of the largest score; rounding causes 1e-5."""

AWARE_TOLERANCE = 0.2
"""Tolerance for the int8 flatbuffer of a quantization-aware model: steps of integers add up, to .15 in MobileNetV3."""

_TAKES_INTEGERS = (
    keras.layers.Embedding,
    keras.layers.Hashing,
    keras.layers.IntegerLookup,
    keras.layers.CategoryEncoding,
    keras.layers.HashedCrossing,
)
"""Layers that may take the inputs of a subclassed model, and that floats would change."""


_Groups = Mapping[str, Sequence[Any]]
"""Layers by the name of their group."""


class Quantizer(Protocol):
    """What makes files of one model.

    Attributes:
        operators: operators of the file that it starts from, by whose names some get weights of another type.
    """

    @property
    def operators(self) -> Operators: ...  # noqa: D102

    def file(self, settings: FileSettings, types: Mapping[str, Iterable[str]]) -> bytes:
        """Return a file with some settings, and names of operators by the type of their weights."""
        ...


class _CheckedFeeds:
    """Inputs of each run, and a function that is called before each of them."""

    def __init__(self, feeds: Iterable[Inputs], check: Callable[[], None]) -> None:
        self._feeds, self._check = feeds, check

    def __iter__(self) -> Iterator[Inputs]:
        for feed in self._feeds:
            self._check()
            yield feed


@dataclasses.dataclass
class _Trace:
    """A model that was traced, and what makes files of it.

    Attributes:
        route: route to the float32 file, and the first quantizer.
        layers: layers that were marked.
        float32: float32 file, after it was compared with Keras.
        quantizers: other quantizers that start from the float32 file, by name or kind.
    """

    route: TensorFlowLite
    layers: list[Any]
    float32: bytes = b""
    quantizers: dict[str, Quantizer] = dataclasses.field(default_factory=dict)

    def types(self, operators: Operators, groups: Mapping[str, _Groups]) -> dict[str, list[str]]:
        """Return the names of the operators of groups of layers, by type."""
        return {
            dtype: self.operators_of(
                operators, group, "float_layers" if dtype == FLOAT else "layer_types"
            )
            for dtype, group in groups.items()
        }

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

    All files with layers in float or of other types share a second trace, in which layers are marked. One trace for all
    also saves memory, as each may leak some (https://github.com/tensorflow/tensorflow/issues/122598).

    Args:
        model: a built Keras 3 model, which does not change, its inference, or the path of a `.keras` file.
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
        model: keras.Model | KerasForward | str | Path,
        *,
        representative: Any = None,
        calibration_examples: int = CALIBRATION_IMAGES,
        output: str | None = None,
        check: Callable[[], None] | None = None,
    ) -> None:
        require_least(1, calibration_examples=calibration_examples)
        require_tensorflow()
        opened = load_keras(Path(model)) if isinstance(model, str | Path) else model
        self._forward = (
            opened if isinstance(opened, KerasForward) else KerasForward.of_output(opened, output)
        )
        self._representative, self._examples = representative, calibration_examples
        self._output, self._check = output, check or (lambda: None)
        self._batch = self._forward.batch
        self._quantization_aware = is_quantization_aware(self._forward.model)
        self._traces: dict[tuple[int, ...], _Trace] = {}

    def file(self, kind: str, **settings: Any) -> bytes:
        """Return the file of some kind; arguments and errors are those of `quantize`."""
        return self.made(FileSettings(kind, **settings))

    def made(self, settings: FileSettings) -> bytes:
        """Return the file with some settings."""
        model, is_aware = self._forward.model, self._quantization_aware
        types = settings.layer_types or {}
        kept = kept_layers(model, settings.float_layers, self._output)
        typed = layers_by_name(model, types, "layer_types")
        has_images = self._representative is not None
        settings.check(has_images=has_images, keeps=bool(kept), quantization_aware=is_aware)
        if is_aware:
            require_ranges(model)
        groups = {
            dtype: {name: [layer] for name, layer in typed.items() if types[name] == dtype}
            for dtype in LAYER_TYPES
        } | {FLOAT: kept}
        check_layers(model, settings.kind)
        return self._with_batch(lambda: self._made(settings, groups))

    def _made(self, settings: FileSettings, groups: Mapping[str, _Groups]) -> bytes:
        """Return the file with some settings, and with groups of layers of other types by type."""
        kind = settings.kind
        named = [*itertools.chain(*(itertools.chain(*one.values()) for one in groups.values()))]
        trace = self._trace(kind, named, marks=bool(named))
        quantizer = self._quantizer(trace, settings)
        is_route = quantizer is trace.route  # others tell what they leave in float
        with _captured(kind, self._forward.model) if is_route else contextlib.nullcontext():
            types = trace.types(quantizer.operators, groups) if named else {}
            dense = trace.float32
            if self._quantization_aware or kind != FLOAT:
                plain = dataclasses.replace(settings, sparse=False)
                dense = quantizer.file(plain, types)
            content = quantizer.file(settings, types) if settings.sparse else dense
        if settings.io != FLOAT and (floats := float_operators(content)):
            got = f"{settings.io!r} for a model that computes floats in {listed(floats)}"
            raise InputError("io", got, f"{FLOAT!r}, or float inputs and no layers in float")
        if self._quantization_aware:
            self._compare(dense, kind)
        if settings.sparse:
            _check_sparse(dense, content, kind, self._named(self._some))
        else:
            self._run(content, kind)
        return content

    def _quantizer(self, trace: _Trace, settings: FileSettings) -> Quantizer:
        """Return what makes a file: the writer of its kind, LiteRT Quantizer, or the route itself."""
        writer = KINDS[settings.kind].writer
        name = writer or settings.quantizer
        if not writer and name != LITERT:
            return trace.route
        self._check()
        if name not in trace.quantizers:
            feeds = (
                None if self._representative is None else _CheckedFeeds(self.feeds(), self._check)
            )
            trace.quantizers[name] = quantizer_of(settings.kind, trace.float32, feeds)
        return trace.quantizers[name]

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
                ranges = trace.route.calibrated(percentile)
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
            return self._forward.drawn(self._forward.batch or CHECKED_IMAGES)
        images = _checked(self._representative, self._forward, self._examples)
        _check_rescaling(self._forward.model, images[0])
        return images

    def feeds(self) -> list[Inputs]:
        """Return the representative images in steps, one per run."""
        step = self._batch or 1
        starts = range(0, len(self.images[0]) - step + 1, step)
        return [self._named([array[i : i + step] for array in self.images]) for i in starts]

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
        return [array[: self._batch or CHECKED_IMAGES] for array in self.images]

    def _with_batch(self, made: Callable[[], Any]) -> Any:
        """Return what a function makes; again with batches of one if a recurrent layer needs a known size."""
        with float32_compute(self._forward.model):
            try:
                return made()
            except ConversionError as error:
                # https://github.com/tensorflow/tensorflow/issues/58668
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
                    save_inference(
                        self._forward,
                        self._names,
                        images,
                        folder,
                        batch=self._batch,
                        output=self._output,
                    )
                is_aware = self._quantization_aware
                route = TensorFlowLite(
                    folder,
                    _CheckedFeeds(self.feeds(), self._check),
                    self._check,
                    has_ranges=is_aware,
                )
                trace = _Trace(route, marked_layers)
                if not is_aware:
                    trace.float32 = route.file(FileSettings(FLOAT), {})
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
    """Raise a `ConversionError` unless LiteRT runs a sparse file as the dense one.

    Few of its kernels take sparse weights (https://github.com/tensorflow/model-optimization/issues/173).
    """
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
