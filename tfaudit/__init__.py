"""tfaudit: compress Keras 3 models and audit what the compressed model forgot, and whom that hurts.

The public names are loaded when they are first used (PEP 562), so that `import tfaudit` imports no TensorFlow.
"""

import importlib

__version__ = "0.1.0"

_HOME = {
    "Attributes": "audit.attributes",
    "Chance": "audit.chance",
    "ClassAudit": "callbacks",
    "ClassImpact": "audit.classes",
    "Cost": "compress.cost",
    "Distortion": "audit.distortion",
    "Exemplars": "audit.exemplars",
    "Factors": "audit.factors",
    "Groups": "audit.groups",
    "HoldMasks": "callbacks",
    "InputError": "errors",
    "Limits": "audit.gating.limits",
    "OperatingPoints": "audit.operating_points",
    "PairComparison": "audit.pairs",
    "Predictions": "predictions",
    "Pruned": "variants",
    "Pruning": "callbacks",
    "Quantized": "variants",
    "Rewind": "callbacks",
    "Robustness": "audit.robustness",
    "Shrunk": "compress.shrink",
    "Store": "store",
    "Study": "study",
    "Survey": "audit.survey",
    "SurveySample": "audit.survey_sample",
    "Training": "study",
    "TFMOT": "compress.blocks",
    "Trends": "audit.trends",
    "Verdict": "audit.gating.gate",
    "accuracy_table": "audit.slope_tables",
    "attributes": "audit.attributes",
    "chance": "audit.chance",
    "class_impact": "audit.classes",
    "class_means": "stats.image_properties",
    "class_table": "audit.class_table",
    "compare": "audit.pairs",
    "corrupt": "datasets.corruptions.registry",
    "corruption_names": "datasets.corruptions.registry",
    "cost": "compress.cost",
    "distance_to_class_mean": "stats.image_properties",
    "distortion": "audit.distortion",
    "exemplars": "audit.exemplars",
    "factors": "audit.factors",
    "factors_glm": "audit.factors",
    "gate": "audit.gating.gate",
    "groups": "audit.groups",
    "level_table": "audit.slope_tables",
    "latencies": "compress.latency",
    "load_dataset": "datasets.catalogue",
    "mean_activation": "stats.image_properties",
    "measure_variants": "compress.cost",
    "open_store": "store",
    "operating_points": "audit.operating_points",
    "p_table": "audit.slope_tables",
    "pixel_entropy": "stats.image_properties",
    "predict": "compress.inference",
    "prune": "compress.pruning",
    "quantize": "compress.quantize",
    "read_predictions": "prediction_files",
    "robustness": "audit.robustness",
    "robustness_table": "audit.robustness",
    "rounds": "rounds",
    "run": "population.run",
    "shrink": "compress.shrink",
    "slope_frame": "audit.slopes",
    "slope_intervals": "audit.slopes",
    "slope_means": "audit.slopes",
    "slope_tests": "audit.slope_tests",
    "sparsity": "compress.sparsity",
    "sparsity_at": "compress.sparsity",
    "survey": "audit.survey",
    "survey_sample": "audit.survey_sample",
    "tilt": "stats.image_properties",
    "trade_offs": "audit.trade_offs",
    "trends": "audit.trends",
    "variance_table": "audit.slope_tables",
    "write_given": "given",
}

__all__ = ["__version__", *_HOME]


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'tfaudit' has no attribute {name!r}")
    return getattr(importlib.import_module(f"tfaudit.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return __all__
