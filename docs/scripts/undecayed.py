# undecayed.py
import dataclasses
from itertools import product

from tfaudit.recipes.cifar10_forgets import study as recipe
from tfaudit.study.variants import Pruned

methods = (
    {"method": "magnitude"},
    {"method": "undecayed"},
    {"method": "undecayed", "gradient": "data"},
)
study = dataclasses.replace(
    recipe,
    name="undecayed",
    dataset="cifar10",
    retraining=dataclasses.replace(recipe.training, epochs=4),
    variants=tuple(
        Pruned(
            ratio=ratio, scope="global", treatment="finetune", unpruned_layers=("logits",), **method
        )
        for ratio, method in product((10, 20), methods)
    ),
    corruptions=(),
    corrupted_variants=(),
)
