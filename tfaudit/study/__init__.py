"""What to run: a study, its training, its variants and the conditions of its tests."""

from tfaudit.lazy_names import lazy_names

lazy_names(
    __name__,
    {"Study": "study", "Training": "training", "Pruned": "variants", "Quantized": "variants", "rounds": "iterative"},
)
