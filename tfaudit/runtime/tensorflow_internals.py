"""What tfaudit needs of TensorFlow and TensorFlow has no public name for: the only file that reads its private names.

Nothing is looked up on import. `tests/runtime/test_tensorflow_internals.py` fails on the day a public name appears, or
a private one moves.
"""

from collections.abc import Iterable
from typing import Any

from tfaudit.errors import InputError


def quantize_calibrated(
    content: bytes,
    float_operators: Iterable[str],
    *,
    per_channel: bool = True,
    io: str = "float32",
) -> bytes:
    """Return the int8 flatbuffer of a calibrated one.

    `tf.lite.TFLiteConverter` calibrates before it quantizes, so that every file would cost a calibration; and
    it leaves no operator in float (https://github.com/tensorflow/tensorflow/issues/46073).

    Args:
        content: the bytes of a float flatbuffer with the ranges of its activations.
        float_operators: names of operators that stay in float.
        per_channel: whether each channel of a kernel has a scale of its own.
        io: type of inputs and outputs.

    Raises:
        InputError: this version of TensorFlow does not quantize calibrated flatbuffers.
    """
    import tensorflow as tf

    try:
        from tensorflow.lite.python.convert import mlir_quantize
    except ImportError:
        raise InputError(
            "tensorflow",
            f"version {tf.__version__}, which does not quantize a calibrated file",
            "TensorFlow 2.21 for float_layers, percentile, per_channel and sensitivity",
        ) from None
    return bytes(
        mlir_quantize(
            content,
            disable_per_channel=not per_channel,
            denylisted_nodes=list(float_operators),
            input_data_type=getattr(tf, io),
            output_data_type=getattr(tf, io),
        )
    )


def set_calibrate_only(converter: Any, only: bool) -> None:
    """Let a `tf.lite.TFLiteConverter` return the calibrated float file instead of the quantized one."""
    converter._experimental_calibrate_only = only


def inner_graph(graph: Any, function: str) -> Any:
    """Return the graph of a function that a graph calls; `tf.Graph.as_graph_def` has no tensors."""
    return graph._get_function(function).graph
