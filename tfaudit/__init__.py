"""tfaudit: compress Keras 3 models and audit what the compressed model forgot, and whom that hurts.

The public names are loaded when they are first used (PEP 562), so that `import tfaudit` imports no TensorFlow.
"""

import importlib

__version__ = "0.1.0"

_HOME = {
    "ClassAudit": "callbacks",
    "ClassImpact": "audit.classes",
    "Exemplars": "audit.exemplars",
    "InputError": "errors",
    "Predictions": "predictions",
    "Pruned": "variants",
    "Pruning": "callbacks",
    "Quantized": "variants",
    "Store": "store",
    "Study": "study",
    "Training": "study",
    "class_impact": "audit.classes",
    "exemplars": "audit.exemplars",
    "load_dataset": "datasets.catalogue",
    "open_store": "store",
    "predict": "compress.inference",
    "prune": "compress.pruning",
    "quantize": "compress.quantize",
    "run": "population.run",
    "sparsity": "compress.sparsity",
}

__all__ = ["__version__", *_HOME]


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'tfaudit' has no attribute {name!r}")
    return getattr(importlib.import_module(f"tfaudit.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return __all__
