"""Kinds of post-training quantization: the one table that studies, conversion and benchmarks read."""

import dataclasses

from tfaudit.extensions import Registry

LAST = "last"
"""Word for the last layers of a model, where layers that stay in float are named."""

FLOAT = "float32"
IO_TYPES = (FLOAT, "int8", "uint8")
"""Types of inputs and outputs of an int8 file; those other than `FLOAT` make it a full-integer one."""


@dataclasses.dataclass(frozen=True)
class QuantizationKind:
    """Settings of `tf.lite.TFLiteConverter` or LiteRT Quantizer for one kind, as names: studies need no TensorFlow."""

    title: str  # name in tables and charts, as in [F] table 2
    optimized: bool = True  # whether the converter quantizes at all, `tf.lite.Optimize.DEFAULT`
    types: tuple[str, ...] = ()  # `target_spec.supported_types`, names of `tf`
    operators: tuple[str, ...] = ()  # `target_spec.supported_ops`, names of `tf.lite.OpsSet`
    activation_bits: int = 0  # of activations with ranges from representative images; 0 for floats
    slow: bool = False  # whether LiteRT has only reference kernels for it on CPUs
    bits: int = 0  # bits of weights in files that `writer` makes; 0 if the converter makes the file
    # Place of the class that makes files from the float32 file, its kind, and inputs or None; its method `file` takes
    # the names of operators by the type of their weights.
    writer: str = ""

    @property
    def calibrated(self) -> bool:
        """Whether activations are quantized with ranges from representative images."""
        return self.activation_bits > 0


KINDS = Registry(
    "kinds",
    {
        "float32": QuantizationKind("float32", optimized=False),
        "float16": QuantizationKind("float16", types=("float16",)),
        "dynamic_range": QuantizationKind("dynamic range int8"),
        "int8": QuantizationKind(
            "fixed-point int8", operators=("TFLITE_BUILTINS_INT8",), activation_bits=8
        ),
        "int16x8": QuantizationKind(
            "fixed-point int16 x int8",
            operators=(
                "EXPERIMENTAL_TFLITE_BUILTINS_ACTIVATIONS_INT16_WEIGHTS_INT8",
                "TFLITE_BUILTINS",
            ),
            activation_bits=16,
            slow=True,
        ),
    },
)
"""Kinds by name. `float32` converts only; `float16` halves the weights; `dynamic_range` stores weights as int8 and
computes activations in float; `int8` computes weights and activations in fixed point; `int16x8` has weights of int8 and
activations of int16."""

TENSORFLOW, LITERT = QUANTIZERS = ("tensorflow", "litert")
"""Libraries that make the file of a kind: TensorFlow's own converter, and LiteRT Quantizer."""

DRAWN, FIRST = CALIBRATIONS = ("drawn", "first")
"""Training examples that calibrate a study's members: of every class at random, or the first ones as in [F] A."""

KERNELS = {
    "default": "AUTO",
    "plain": "BUILTIN_WITHOUT_DEFAULT_DELEGATES",
    "reference": "BUILTIN_REF",
}
"""Implementations of a file's operators in LiteRT, members of its `OpResolverType` by name: with the delegate XNNPACK
where it serves; LiteRT's own, optimized ones; and the reference ones, on which those of TensorFlow Lite Micro are
modelled."""

LAYER_TYPES = ("int8", "float16")
"""Types that single layers of an `int4` file may have."""
