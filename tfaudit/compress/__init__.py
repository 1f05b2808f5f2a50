"""Compression of Keras 3 models: pruning, shrinking, TensorFlow Lite conversion, and what they save."""

from tfaudit.lazy_names import lazy_names

lazy_names(
    __name__,
    {
        "prune": "pruning.pruning",
        "Pruning": "pruning.pruning",
        "TFMOT": "pruning.tfmot_masks",
        "HoldMasks": "pruning.hold_masks",
        "Rewind": "pruning.rewind",
        "sparsity": "pruning.sparsity",
        "sparsity_at": "pruning.sparsity",
        "shrink": "shrinking.shrink",
        "Shrunk": "shrinking.shrink",
        "quantize": "litert.quantize",
        "predict": "litert.inference",
        "latencies": "litert.latency",
        "cost": "cost",
        "Cost": "cost",
        "measure_variants": "cost",
    },
)
