"""Post-training quantization to TensorFlow Lite, with every conversion checked against Keras."""

from __future__ import annotations

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

__all__ = ["KINDS", "ConversionError", "quantize"]

KINDS = ("float32", "float16", "dynamic_range", "int8")
CALIBRATION_IMAGES = 100
CHECK_IMAGES = 4
TOLERANCE = 1e-3
"""Largest difference of the float32 flatbuffer from Keras, as a share of the largest score; rounding gives 1e-5."""


class ConversionError(RuntimeError):
    """TensorFlow Lite could not convert the model, or what it made does not answer as Keras does."""


def quantize(model: keras.Model, kind: str, *, representative: np.ndarray | None = None, sparse: bool = False) -> bytes:
    """Converts a Keras model to a flatbuffer with float input and output, [F] appendix A.

    `float32` converts only; `float16` halves the weights; `dynamic_range` stores weights as int8 and computes
    activations in float; `int8` computes weights and activations in fixed point. No gradient steps follow.

    The float32 flatbuffer is compared with Keras on four images first, whatever the kind: conversion has had silent
    regressions. That costs a second conversion (a small convnet: 0.25 s each). Models in mixed precision are converted
    from their float32 weights. What the converter prints is caught at the file descriptors, together with what other
    threads print meanwhile, and shown only when it fails. Equal models give equal bytes, but layer names are among
    them: give layers names of their own where bytes or sizes are compared.

    `sparse` stores pruned kernels without their zeros (`tf.lite.Optimize.EXPERIMENTAL_SPARSITY`). That makes the file
    smaller, about as much as gzip would, and never faster: LiteRT puts the zeros back when it loads the file. Its
    answers are compared with those of the dense file. LiteRT 2.3 runs sparse float32; float16 where the zeros do not
    form blocks of four; no integer kernels. What it does not run right is refused, not returned.

    Args:
        model: A built Keras 3 model with one input and one output. It stays as it is.
        kind: "float32", "float16", "dynamic_range" or "int8".
        representative: Training images `(N, H, W, C)`, uint8 or float, as the model's input takes them; needed for
            "int8", whose ranges come from the first 100. The check uses the first four; without them, seeded noise in
            [0, 1) (0 to 255 for an integer input; 64 pixels where the input leaves a side open).
        sparse: Store kernels with many zeros (from about a third) without them. Without such kernels it changes
            nothing.

    Returns:
        The flatbuffer, the content of a `.tflite` file.

    Raises:
        InputError: Unknown kind, no representative images for "int8", or a model or images that do not fit.
        ConversionError: The conversion failed, the float32 flatbuffer disagrees with Keras, or the sparse one does not
            run or disagrees with the dense one.

    Example:
        >>> import keras, numpy as np
        >>> images = np.random.default_rng(0).integers(0, 256, (8, 8, 8, 1), "uint8")
        >>> model = keras.Sequential([keras.Input((8, 8, 1)), keras.layers.Flatten(), keras.layers.Dense(10)])
        >>> quantize(model, "int8", representative=images)[4:8]
        b'TFL3'
    """
    if kind not in KINDS:
        raise InputError("kind", repr(kind), ", ".join(KINDS))
    forward = KerasForward(model)
    if representative is None and kind == "int8":
        raise InputError("representative: missing, kind 'int8' needs training images of shape (N, H, W, C)")
    require(isinstance(sparse, bool), "sparse", sparse, "True or False")
    images = _noise(forward) if representative is None else _checked(representative, forward)
    with _float32_compute(forward.model), tempfile.TemporaryDirectory() as exported:
        try:
            with captured_output() as chatter:
                _export(forward, images, exported)
                plain = _convert(exported, "float32", forward, images)
                content = plain if kind == "float32" else _convert(exported, kind, forward, images)
                packed = _convert(exported, kind, forward, images, sparse=True) if sparse else content
        except Exception as error:  # Keras and the converter raise ConverterError, ValueError, RuntimeError and more.
            raise ConversionError(
                f"kind {kind!r}: TensorFlow Lite cannot convert {forward.model.name!r}: {one_line(error)}\n"
                f"{error}\nWhat the converter printed:\n{chatter.getvalue()}"
            ) from error
        checked = images[: forward.batch or CHECK_IMAGES]
        _check_parity(forward, plain, kind, checked)
    if sparse:
        _check_sparse(content, packed, kind, checked)
    return packed


def _checked(representative: object, forward: KerasForward) -> np.ndarray:
    if not hasattr(representative, "__array__"):
        raise InputError("representative", str(type(representative).__name__), "an array of shape (N, H, W, C)")
    array = np.asarray(representative)[:CALIBRATION_IMAGES]
    try:
        images = as_input(array, forward.image_shape, forward.dtype)
    except InputError as error:
        raise InputError(error.replace("images", "representative", 1)) from None
    if not len(images):
        raise InputError("representative", "empty", "one image or more")
    if not np.isfinite(images).all():
        raise InputError("representative", "holds NaN or infinity", "finite values")
    return np.resize(images, (max(len(images), forward.batch or 1), *images.shape[1:]))


def _noise(forward: KerasForward) -> np.ndarray:
    noise = np.random.default_rng(0).random((forward.batch or CHECK_IMAGES, *forward.example_shape))
    return (noise if forward.dtype.kind == "f" else noise * 256).astype(forward.dtype)


def _export(forward: KerasForward, images: np.ndarray, directory: str) -> None:
    """Writes the inference pass as a SavedModel.

    `TFLiteConverter.from_keras_model` would do so too, but stores a tensor name that counts the process's models, so
    that equal models give different bytes.
    """
    # A subclassed model declares no sides, and is converted for those of the images.
    sides = forward.image_shape if getattr(forward.model, "inputs", None) else images.shape[1:]
    archive = keras.export.ExportArchive()
    archive.track(forward.model)
    archive.add_endpoint(
        "serve",
        lambda images: forward.model(images, training=False),
        input_signature=[tf.TensorSpec((forward.batch, *sides), forward.dtype, name="images")],
    )
    archive.write_out(directory)


def _convert(exported: str, kind: str, forward: KerasForward, images: np.ndarray, *, sparse: bool = False) -> bytes:
    converter = tf.lite.TFLiteConverter.from_saved_model(exported)
    wanted = {tf.lite.Optimize.DEFAULT: kind != "float32", tf.lite.Optimize.EXPERIMENTAL_SPARSITY: sparse}
    converter.optimizations = [optimization for optimization, on in wanted.items() if on]
    if kind == "float16":
        converter.target_spec.supported_types = [tf.float16]
    if kind == "int8":
        step = forward.batch or 1
        converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
        converter.representative_dataset = lambda: (
            [images[i : i + step]] for i in range(0, len(images) - step + 1, step)
        )
    return bytes(converter.convert())


def _check_parity(forward: KerasForward, content: bytes, kind: str, images: np.ndarray) -> None:
    expected = np.asarray(tf.cast(forward.model(images, training=False), tf.float32))
    if not np.isfinite(expected).all():
        raise InputError(f"model: {forward.model.name!r} answers NaN or infinity on the check images")
    disagreement = _disagreement(Flatbuffer(content)(images), expected)
    if disagreement:
        raise ConversionError(
            f"kind {kind!r}: the float32 flatbuffer of {forward.model.name!r} differs from Keras by up to "
            f"{disagreement}; the conversion is wrong"
        )


def _check_sparse(dense: bytes, sparse: bytes, kind: str, images: np.ndarray) -> None:
    refused = f"kind {kind!r}, sparse: LiteRT does not run kernels of this kind stored without their zeros"
    try:
        answered = Flatbuffer(sparse)(images)
    except InputError as error:
        raise ConversionError(f"{refused}; leave sparse out, and let gzip save the zeros ({error})") from error
    disagreement = _disagreement(answered, Flatbuffer(dense)(images))
    if disagreement:
        raise ConversionError(f"{refused} rightly: it differs from the dense flatbuffer by up to {disagreement}")


def _disagreement(answered: np.ndarray, expected: np.ndarray) -> str:
    """Says how far scores are off, or nothing where they agree."""
    allowed = TOLERANCE * float(np.abs(expected).max()) + 1e-6
    difference = float(np.abs(answered - expected).max()) if answered.shape == expected.shape else np.inf
    if difference <= allowed:  # not so for NaN
        return ""
    return f"{difference:.3g} on {len(expected)} images, allowed is {allowed:.3g}"


@contextlib.contextmanager
def _float32_compute(model: keras.Model) -> Iterator[None]:
    """Lets layers of mixed precision compute in the float32 of their weights: TFLite has no half-precision kernels."""
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
