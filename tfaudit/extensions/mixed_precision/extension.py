"""Declares `int4` files with wider types of single layers, and what each layer costs, also for Model Explorer."""

from tfaudit.extensions import Extension

_HOME = "tfaudit.extensions.mixed_precision"

EXTENSION = Extension(
    name="mixed_precision",
    names={
        "quantization_sensitivity": f"{_HOME}.sensitivity:quantization_sensitivity",
        "compress.quantization_sensitivity": f"{_HOME}.sensitivity:quantization_sensitivity",
        "compress.QuantizationSensitivity": f"{_HOME}.sensitivity:QuantizationSensitivity",
    },
    kinds={"int4": f"{_HOME}.kinds:INT4"},
    candidates={
        "layers_in_float": f"{_HOME}.candidates:LayersInFloat",
        "wider_layers": f"{_HOME}.candidates:WiderLayers",
    },
    exports={"model-explorer": f"{_HOME}.model_explorer:MODEL_EXPLORER"},
)
