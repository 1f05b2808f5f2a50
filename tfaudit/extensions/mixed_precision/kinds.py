"""Kinds of quantization that LiteRT Quantizer writes."""

from tfaudit.study.quantization import QuantizationKind

INT4 = QuantizationKind(
    "int4 weights",
    slow=True,
    bits=4,
    writer="tfaudit.extensions.mixed_precision.packed_weights:PackedFiles",
)
"""Stores weights as int4 and computes activations in float."""
