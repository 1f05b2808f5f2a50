"""Compress Keras 3 models and audit, class by class and image by image, what the compressed model forgot.

The names below are the core. More are in `tfaudit.audits`, `tfaudit.stats`, `tfaudit.compress`, `tfaudit.datasets`,
`tfaudit.study` and `tfaudit.store`. All are imported when they are first used: `import tfaudit` imports no TensorFlow.
"""

from tfaudit.runtime.checkout import find_beside_package
from tfaudit.runtime.lazy_names import lazy_names

__version__ = "0.1.0"

find_beside_package()

lazy_names(
    __name__,
    {
        # inside `model.fit`
        "Pruning": "callbacks",
        "HoldMasks": "callbacks",
        "Rewind": "callbacks",
        "ClassAudit": "callbacks",
        # one model
        "prune": "compress.pruning.one_shot",
        "sparsity": "compress.pruning.sparsity",
        "recalibrate_batch_norm": "compress.batch_norm",
        "quantize": "compress.litert.quantize",
        "predict": "compress.litert.inference",
        "features": "compress.features",
        "compare_models": "compress.model_comparison",
        "gate_models": "compress.model_comparison",
        # audits of predictions
        "Predictions": "predictions",
        "read_predictions": "readers.prediction_files",
        "Outcomes": "outcomes",
        "read_outcomes": "readers.outcome_files",
        "compare_outcomes": "analysis.outcome_changes",
        "class_impact": "audits.classes.classes",
        "exemplars": "audits.exemplars.exemplars",
        "chance": "audits.chance.chance",
        "compare": "audits.model_pair.model_pair",
        "robustness": "audits.robustness.robustness",
        "groups": "audits.groups.groups",
        "gate": "audits.gate.gate",
        "Limits": "audits.gate.limits",
        # data
        "corrupt": "datasets.corruptions.corrupt",
        "load_dataset": "datasets.loading",
        "Examples": "datasets.examples",
        # studies of populations
        "Study": "study.study",
        "Training": "study.training",
        "Pruned": "study.variants",
        "Quantized": "study.variants",
        "run": "population.run",
        "open_store": "store.store",
        "InputError": "errors",
    },
)
