"""Studies: what to train, how to compress it, and under which conditions to test it."""

from tfaudit.runtime.lazy_names import lazy_names

lazy_names(
    __name__,
    {
        "Study": "study",
        "Training": "training",
        "Pruned": "variants",
        "Quantized": "variants",
        "rounds": "iterative",
    },
)
