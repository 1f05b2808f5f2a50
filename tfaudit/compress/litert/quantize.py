"""Keras models as flatbuffers, in float32 or quantized after training; every conversion is compared with Keras."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tfaudit.compress.calibration_data import CALIBRATION_IMAGES, CHECKED_IMAGES, calibration_inputs
from tfaudit.compress.litert.file_settings import FileSettings
from tfaudit.compress.model_files import load_keras, open_model
from tfaudit.compress.model_inputs import Inputs, length_of
from tfaudit.datasets.structure import mapped
from tfaudit.errors import InputError, require_least
from tfaudit.study.quantization import FLOAT, KINDS, LITERT, TENSORFLOW

if TYPE_CHECKING:
    import keras


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
    quantizer: str = TENSORFLOW,
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

    If Keras runs on JAX or torch, a process that runs it on TensorFlow converts the model from a `.keras` file. On JAX,
    `quantizer="litert"` makes "float16", "dynamic_range" and "int4" of the file of `as_flatbuffer`, without TensorFlow.

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
        quantizer: what makes the file of the kind: "tensorflow", its own converter, or "litert", LiteRT Quantizer
            (extra `quantizer`), which starts from the float32 file and makes every kind but sparse files and those of
            quantization-aware models. "int4" is always its work.
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
    import keras

    require_least(1, calibration_examples=calibration_examples)
    settings = FileSettings(
        kind, float_layers, layer_types, percentile, per_channel, sparse, io, quantizer
    )
    source = {
        "representative": representative,
        "calibration_examples": calibration_examples,
        "output": output,
    }
    if keras.backend.backend() == "tensorflow":
        from tfaudit.compress.litert.conversions import Conversions
        from tfaudit.runtime.garbage_collection import skip_existing_objects

        with skip_existing_objects():  # a trace holds 7 MB for a LeNet
            return Conversions(model, check=check, **source).made(settings)  # type: ignore[arg-type]
    if check is not None:
        check()
    # LiteRT 2.3 crashes on int8 files of StableHLO; no report of it is known.
    is_float = not KINDS[kind].calibrated
    if keras.backend.backend() == "jax" and quantizer == LITERT and is_float and output is None:
        return _on_jax(model, settings, representative, calibration_examples)
    from tfaudit.compress.keras_model import KerasForward
    from tfaudit.compress.litert.tensorflow_process import quantized_in_tensorflow

    if representative is not None:
        opened = load_keras(Path(model)) if isinstance(model, str | Path) else model
        inputs = KerasForward.of_output(opened, output).inputs
        drawn = calibration_inputs(representative, inputs, calibration_examples)
        source["representative"] = drawn
    return quantized_in_tensorflow(model, source | vars(settings))


def _on_jax(
    model: keras.Model | str | Path, settings: FileSettings, representative: Any, examples: int
) -> bytes:
    """Return the file that LiteRT Quantizer makes of StableHLO, without TensorFlow."""
    from tfaudit.compress.litert.flatbuffer import Flatbuffer
    from tfaudit.compress.litert.litert_quantizer import quantizer_of
    from tfaudit.compress.litert.stablehlo import stablehlo_flatbuffer

    settings.check(has_images=representative is not None)
    for argument in ("float_layers", "layer_types"):  # StableHLO does not name layers
        if getattr(settings, argument):
            expected = f"none, or quantizer={TENSORFLOW!r}"
            raise InputError(argument, "layers for Keras on JAX", expected)
    content = stablehlo_flatbuffer(
        load_keras(Path(model)) if isinstance(model, str | Path) else model
    )
    if settings.kind == FLOAT:
        return content
    feeds = None
    if representative is not None:
        drawn = calibration_inputs(representative, Flatbuffer(content).inputs, examples)
        rows = [slice(row, row + 1) for row in range(length_of(drawn))]
        feeds = [mapped(itemgetter(row), drawn) for row in rows]
    made: bytes = quantizer_of(settings.kind, content, feeds).file(settings, {})
    return made


def as_flatbuffer(model: keras.Model | bytes | str | Path, images: Inputs | None = None) -> bytes:
    """Return a flatbuffer itself, or the float32 flatbuffer of a Keras model, which is compared with Keras.

    If Keras runs on JAX, a model is converted without TensorFlow, by way of StableHLO (extra `jax`); otherwise by
    TensorFlow Lite, as `quantize` does.

    Args:
        model: a built Keras 3 model, the bytes of a flatbuffer, or the path of a `.keras` or `.tflite` file, which is
            loaded with TensorFlow.
        images: inputs on which both are compared; by default seeded pixels or tokens. On JAX they are always drawn.

    Raises:
        InputError: the model cannot be converted or used, or a library that converts it is not installed.
        ConversionError: TensorFlow Lite cannot convert the model.

    >>> import keras
    >>> as_flatbuffer(keras.Sequential([keras.Input((4,)), keras.layers.Dense(2)]))[4:8]
    b'TFL3'
    """
    if not isinstance(model, bytes | bytearray | memoryview | str | Path):
        import keras

        if keras.backend.backend() == "jax":
            from tfaudit.compress.litert.stablehlo import stablehlo_flatbuffer

            return stablehlo_flatbuffer(model)
    opened = open_model(model)
    if isinstance(opened, bytes):
        return opened
    from tfaudit.compress.keras_model import KerasForward

    if images is None and not getattr(opened, "inputs", None):  # whose types matter little here
        forward = KerasForward.of_first_output(opened)
        drawn = forward.drawn(forward.batch or CHECKED_IMAGES)
        images = dict(zip([source.name for source in forward.inputs], drawn, strict=True))
    try:
        return quantize(opened, "float32", representative=images)
    except InputError as error:
        if error.argument == "representative":
            raise InputError("images", error.got, error.expected) from None
        raise


if __name__ == "__main__":  # the process of `quantized_in_tensorflow`
    from tfaudit.compress.litert.tensorflow_process import serve

    serve(quantize, Path(sys.argv[1]))
