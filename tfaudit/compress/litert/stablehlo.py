"""Conversion of Keras models on JAX by litert-converter, without TensorFlow."""

from typing import Any

import keras
import numpy as np

from tfaudit.compress.litert.flatbuffer import Flatbuffer
from tfaudit.compress.model_inputs import file_names
from tfaudit.errors import InputError, missing_extra, one_line
from tfaudit.runtime.captured_output import captured_output

TOLERANCE = 1e-3
"""Largest difference between flatbuffer and Keras, as a share of the largest score."""

EXAMPLES = 4
"""Number of drawn inputs on which both are compared."""


def stablehlo_flatbuffer(model: Any) -> bytes:
    """Return the float32 flatbuffer of a Keras model on JAX, for batches of any size.

    `jax.export` writes the inference pass as StableHLO, which litert-converter turns into a flatbuffer. Both are
    compared on four drawn inputs. Inputs and outputs have the names of the file that `quantize` makes.

    Raises:
        InputError: the model has no declared inputs, an operation without a counterpart in TensorFlow Lite, such as the
            loop of an LSTM, or other scores as a flatbuffer.
    """
    if not isinstance(model, keras.Model) or not model.inputs:
        raise InputError("model", type(model).__name__, "a functional or sequential Keras 3 model")
    if isinstance(model, keras.Sequential):  # whose graph has no structure of inputs and outputs
        model = keras.Model(model.inputs[0], model.outputs[0], name=model.name)
    names, outputs = _input_names(model), _output_names(model)
    try:
        with captured_output():
            content = _converted(_exported(model), names, outputs)
    except ImportError as error:
        raise missing_extra(error, "as_flatbuffer") or error from None
    except Exception as error:  # of JAX and MLIR, of many types
        got = f"{model.name!r}, which litert-converter cannot convert ({one_line(error)})"
        raise InputError("model", got, "a model without loops, or Keras on TensorFlow") from error
    draws = np.random.default_rng(0)
    inputs = [
        draws.random((EXAMPLES, *(side or 64 for side in source.shape[1:]))).astype(source.dtype)
        for source in model.inputs
    ]
    expected = keras.tree.flatten(model(_structured(model, inputs), training=False))
    found = Flatbuffer(content).all_outputs(
        dict(zip(names, inputs, strict=True)) if len(inputs) > 1 else inputs[0]
    )
    for name, scores in zip(outputs, map(np.asarray, expected), strict=True):
        scores_found = found[name] if len(outputs) > 1 else next(iter(found.values()))
        difference = float(np.abs(scores_found - scores).max())
        if not difference <= TOLERANCE * float(np.abs(scores).max()) + 1e-6:
            got = f"{model.name!r}, whose flatbuffer differs from Keras by {difference:.3g}"
            raise InputError("model", got, "one that litert-converter converts correctly")
    return content


def _output_names(model: Any) -> list[str]:
    if isinstance(model.output, dict):
        return list(keras.tree.flatten({name: name for name in model.output}))
    return ["output_0"] if len(model.outputs) == 1 else list(model.output_names)


def _input_names(model: Any) -> list[str]:
    ordered = not isinstance(model.input, dict)
    return file_names([source.name for source in model.inputs], ordered=ordered)


def _structured(model: Any, tensors: Any) -> Any:
    """Return tensors in the structure that the model takes."""
    return keras.tree.pack_sequence_as(model.input, list(tensors))


def _exported(model: Any) -> str:
    """Return the inference pass as StableHLO; every open side has a symbol, the batches of all inputs the same."""
    import jax
    from jax import export

    scope = export.SymbolicScope()
    shapes = []
    for number, source in enumerate(model.inputs):
        sides = [str(side or f"s{number}_{axis}") for axis, side in enumerate(source.shape)]
        shape = export.symbolic_shape(", ".join(["batch", *sides[1:]]), scope=scope)
        shapes.append(jax.ShapeDtypeStruct(shape, source.dtype))

    def serve(*tensors: Any) -> Any:
        return keras.tree.flatten(model(_structured(model, tensors), training=False))

    return str(export.export(jax.jit(serve), platforms=["cpu"])(*shapes).mlir_module())


def _converted(module: str, inputs: list[str], outputs: list[str]) -> bytes:
    """Return StableHLO as a flatbuffer whose signature has these names."""
    from litert_converter import converter_api_ext
    from litert_converter.mlir import ir, passmanager

    with ir.Context() as context, ir.Location.unknown():
        converter_api_ext.prepare_mlir_context(context)
        parsed = ir.Module.parse(module)
        converter_api_ext.set_signature(parsed.operation, "serving_default", inputs, outputs)
        passes, settings = passmanager.PassManager(), converter_api_ext.ConvertToTFLConfig()
        converter_api_ext.run_convert_to_tfl_passes(parsed, passes, settings)
        return bytes(converter_api_ext.export_flatbuffer_to_bytes(parsed.operation))
