"""Declares training for int8: the copy of a model for it, its layers in saved models, and the remedy of a study."""

from tfaudit.extensions import Extension

_HOME = "tfaudit.extensions.quantization_aware"

EXTENSION = Extension(
    name="quantization_aware",
    names={
        "quantization_aware": f"{_HOME}.quantization_aware:quantization_aware",
        "compress.quantization_aware": f"{_HOME}.quantization_aware:quantization_aware",
        "study.QuantizationAwareRemedy": f"{_HOME}.settings:QuantizationAwareRemedy",
    },
    layers={
        "FakeQuantization": f"{_HOME}.fake_quantization:FakeQuantization",
        "FakeQuantizedWeights": f"{_HOME}.layers:FakeQuantizedWeights",
        "UnfoldedNormalization": f"{_HOME}.layers:UnfoldedNormalization",
        "RangedConcatenation": f"{_HOME}.layers:RangedConcatenation",
    },
    quantization_remedies={"quantization_aware": f"{_HOME}.settings:QuantizationAwareRemedy"},
)
