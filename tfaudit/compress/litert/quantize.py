"""Post-training quantization to TensorFlow Lite; every conversion is compared with Keras."""

import contextlib
import tempfile
from collections.abc import Iterator

import keras
import numpy as np
import tensorflow as tf

from tfaudit.compress.input_images import as_input
from tfaudit.compress.keras_model import KerasForward
from tfaudit.compress.litert.flatbuffer import Flatbuffer
from tfaudit.errors import InputError, one_line, require
from tfaudit.quiet import captured_output
from tfaudit.study.quantization import KINDS

CALIBRATION_IMAGES = 100
CHECK_IMAGES = 4
TOLERANCE = 1e-3
"""Largest difference between flatbuffer and Keras, as a share of the largest score; rounding causes 1e-5."""


class ConversionError(RuntimeError):
    """TensorFlow Lite cannot convert the model, or the converted model gives other scores than Keras."""


def quantize(model: keras.Model, kind: str, *, representative: np.ndarray | None = None, sparse: bool = False) -> bytes:
    """Convert a Keras model to the bytes of a flatbuffer with float input and output, without training, [F] appendix A.

    For every kind, the float32 flatbuffer is first compared with Keras on four images, since converters have had silent
    regressions. That costs a second conversion (0.25 s each for a small convnet). Models in mixed precision are
    converted from their float32 weights. The converter's output is captured at the file descriptors, together with
    that of other threads, and shown only if it fails. Equal models give equal bytes, but the bytes include layer names:
    name the layers explicitly to compare bytes or sizes.

    `sparse` stores pruned kernels without their zeros (`tf.lite.Optimize.EXPERIMENTAL_SPARSITY`). The file becomes
    smaller, about as much as with gzip, and never faster: LiteRT restores the zeros when it loads the file. Its scores
    are compared with the dense file's. LiteRT 2.3 runs sparse float32 kernels, and sparse float16 kernels unless their
    zeros form blocks of four, but no integer kernels. A model that it does not run correctly raises an error.

    Args:
        model: a built Keras 3 model with one input and one output; it does not change.
        kind: a name of `tfaudit.study.quantization.KINDS`, such as "float16" or "int8".
        representative: training images `(N, H, W, C)`, uint8 or float, as the model's input takes them; required for
            "int8", whose ranges come from the first 100. The check uses the first four; by default, seeded noise in
            [0, 1) (0 to 255 for an integer input; 64 pixels for an open side of the input).
        sparse: whether to store kernels with many zeros (from about a third) without them. Other kernels do not change.

    Raises:
        InputError: an unknown kind, no representative images for "int8", or a model or images that do not fit.
        ConversionError: the conversion failed, the float32 flatbuffer differs from Keras, or the sparse one does not
            run or differs from the dense one.

    >>> import keras, numpy as np
    >>> images = np.random.default_rng(0).integers(0, 256, (8, 8, 8, 1), "uint8")
    >>> model = keras.Sequential([keras.Input((8, 8, 1)), keras.layers.Flatten(), keras.layers.Dense(10)])
    >>> quantize(model, "int8", representative=images)[4:8]
    b'TFL3'
    """
    require(kind in KINDS, "kind", kind, ", ".join(KINDS))
    forward = KerasForward(model)
    if representative is None and KINDS[kind].calibrated:
        raise InputError("representative", "None", f"training images (N, H, W, C) for kind {kind!r}")
    require(isinstance(sparse, bool), "sparse", sparse, "True or False")
    images = _noise(forward) if representative is None else _checked(representative, forward)
    with _float32_compute(forward.model), tempfile.TemporaryDirectory() as exported:
        try:
            with captured_output() as output:
                _export(forward, images, exported)
                plain = _convert(exported, "float32", forward, images)
                dense = plain if kind == "float32" else _convert(exported, kind, forward, images)
                converted = _convert(exported, kind, forward, images, sparse=True) if sparse else dense
        except Exception as error:  # Keras and the converter raise ConverterError, ValueError, RuntimeError and more.
            reason = f"kind {kind!r}: TensorFlow Lite cannot convert {forward.model.name!r}: {one_line(error)}"
            details = f"{error}\nOutput of the converter:\n{output.getvalue()}"
            raise ConversionError(f"{reason}\n{details}") from error
        check_images = images[: forward.batch or CHECK_IMAGES]
        _check_against_keras(forward, plain, kind, check_images)
    if sparse:
        _check_sparse(dense, converted, kind, check_images)
    return converted


def _checked(representative: object, forward: KerasForward) -> np.ndarray:
    if not hasattr(representative, "__array__"):
        raise InputError("representative", type(representative).__name__, "an array of shape (N, H, W, C)")
    array = np.asarray(representative)[:CALIBRATION_IMAGES]
    try:
        images = as_input(array, forward.image_shape, forward.dtype)
    except InputError as error:
        raise InputError("representative", error.got, error.expected) from None
    if not len(images):
        raise InputError("representative", "no images", "one image or more")
    if not np.isfinite(images).all():
        raise InputError("representative", "NaN or infinity", "finite values")
    return np.resize(images, (max(len(images), forward.batch or 1), *images.shape[1:]))


def _noise(forward: KerasForward) -> np.ndarray:
    noise = np.random.default_rng(0).random((forward.batch or CHECK_IMAGES, *forward.example_shape))
    return (noise if forward.dtype.kind == "f" else noise * 256).astype(forward.dtype)


def _export(forward: KerasForward, images: np.ndarray, directory: str) -> None:
    """Write the inference pass as a SavedModel."""
    # `TFLiteConverter.from_keras_model` stores a tensor name that counts the process's models, which changes the bytes.
    # A subclassed model declares no sides and is converted for those of the images.
    sides = forward.image_shape if getattr(forward.model, "inputs", None) else images.shape[1:]
    archive = keras.export.ExportArchive()
    archive.track(forward.model)
    signature = [tf.TensorSpec((forward.batch, *sides), forward.dtype, name="images")]
    archive.add_endpoint("serve", lambda images: forward.model(images, training=False), input_signature=signature)
    archive.write_out(directory)


def _convert(exported: str, name: str, forward: KerasForward, images: np.ndarray, *, sparse: bool = False) -> bytes:
    kind = KINDS[name]
    converter = tf.lite.TFLiteConverter.from_saved_model(exported)
    optimizations = {tf.lite.Optimize.DEFAULT: kind.optimized, tf.lite.Optimize.EXPERIMENTAL_SPARSITY: sparse}
    converter.optimizations = [optimization for optimization, on in optimizations.items() if on]
    if kind.types:
        converter.target_spec.supported_types = [getattr(tf, dtype) for dtype in kind.types]
    if kind.operators:
        converter.target_spec.supported_ops = [getattr(tf.lite.OpsSet, operators) for operators in kind.operators]
    if kind.calibrated:
        step = forward.batch or 1
        batches = [[images[i : i + step]] for i in range(0, len(images) - step + 1, step)]
        converter.representative_dataset = lambda: iter(batches)
    return bytes(converter.convert())


def _check_against_keras(forward: KerasForward, content: bytes, kind: str, images: np.ndarray) -> None:
    expected = np.asarray(tf.cast(forward.model(images, training=False), tf.float32))
    if not np.isfinite(expected).all():
        raise InputError("model", f"{forward.model.name!r} with scores of NaN or infinity", "finite scores")
    if difference := _difference(Flatbuffer(content)(images), expected):
        reason = f"kind {kind!r}: the float32 flatbuffer of {forward.model.name!r} differs from Keras"
        raise ConversionError(f"{reason} by up to {difference}; the conversion is wrong")


def _check_sparse(dense: bytes, sparse: bytes, kind: str, images: np.ndarray) -> None:
    reason = f"kind {kind!r}, sparse: LiteRT does not run kernels of this kind stored without their zeros"
    try:
        scores = Flatbuffer(sparse)(images)
    except InputError as error:
        raise ConversionError(f"{reason}; leave sparse out, and compress the file with gzip ({error})") from error
    if difference := _difference(scores, Flatbuffer(dense)(images)):
        raise ConversionError(f"{reason} correctly: it differs from the dense flatbuffer by up to {difference}")


def _difference(scores: np.ndarray, expected: np.ndarray) -> str:
    """Return the largest difference as text, or an empty text if it is within the tolerance."""
    allowed = TOLERANCE * float(np.abs(expected).max()) + 1e-6
    difference = float(np.abs(scores - expected).max()) if scores.shape == expected.shape else np.inf
    text = f"{difference:.3g} on {len(expected)} images, allowed is {allowed:.3g}"
    return "" if difference <= allowed else text  # a difference of NaN is not allowed


@contextlib.contextmanager
def _float32_compute(model: keras.Model) -> Iterator[None]:
    """Make layers of mixed precision compute in the float32 of their weights: TFLite has no half-precision kernels."""
    mixed = [
        (layer, layer.dtype_policy)
        for layer in model._flatten_layers()
        if layer.variable_dtype == "float32" and layer.compute_dtype in ("float16", "bfloat16")
    ]
    try:
        for layer, _ in mixed:
            layer.dtype_policy = "float32"
        yield
    finally:
        for layer, policy in mixed:
            layer.dtype_policy = policy
