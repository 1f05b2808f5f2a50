# thirty.py
from dataclasses import replace

from tfaudit.recipes.cifar10_forgets import study as recipe
from tfaudit.study.variants import Pruned, Quantized

study = replace(
    recipe,
    dataset="cifar10",
    variants=(
        Pruned(0.7, unpruned_layers=("logits",)),
        Quantized("int8"),
        Quantized("int8", float_layers="last"),
    ),
    corruptions=(),
    corrupted_variants=(),
)
