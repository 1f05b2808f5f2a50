"""The study of the recipe `digits` with its images and simulated members: every page has something to show."""

import dataclasses

import numpy as np
import pandas as pd

from tests.builders.populations import population
from tests.builders.small_stores import save_population
from tests.builders.studies import png
from tfaudit.datasets.digits import digits
from tfaudit.recipes.digits import study as recipe
from tfaudit.store.store import Store

MEMBERS, EACH = 3, 30  # members of a variant, images of a class
NOISE = {"magnitude-0.5": 0.6, "magnitude-0.9": 0.8}  # of the others .5
BYTES = {"dense": 100_000, "magnitude-0.5": 62_000, "magnitude-0.9": 21_000, "float16": 52_000}
BYTES |= {"dynamic_range": 27_000, "int8": 25_000}


def make_page_study(directory):
    """Create the study: 3 members of each variant, 300 digits by 100 writers of two series, and its corruptions."""
    variants = tuple(variant for variant in recipe.variants if variant.key in BYTES)
    store = Store.create(
        directory, dataclasses.replace(recipe, population=MEMBERS, variants=variants), {}
    )
    data = digits("test")
    ranks = pd.Series(data.labels).groupby(data.labels).cumcount()
    chosen = np.lexsort((data.labels, ranks))[
        : EACH * data.num_classes
    ]  # one of each class, then the next one of each
    images = [png(pixels) for pixels in data.images[chosen][..., 0]]
    writers = np.arange(len(chosen)) // 3
    series, hands = np.where(writers % 3, "clerk", "pupil"), np.where(writers % 4, "right", "left")
    groups = pd.DataFrame(
        {"series": series, "hand": hands, "writer": [f"writer {i}" for i in writers]}
    )
    store.save_examples(
        "test", data.labels[chosen], data.example_ids[chosen], data.class_names, images, groups
    )
    for number, variant in enumerate(store.study.all_variants):
        hurt = [3, 8] if variant.key == "magnitude-0.9" else []
        shape = {"members": MEMBERS, "examples": len(chosen), "classes": data.num_classes}
        settings = {**shape, "hurt": hurt, "doubt": 0.6}
        noise = NOISE.get(variant.key, 0.5)
        predictions = population(number, noise=noise, **settings)
        size = BYTES[variant.key]
        sparsity = 0.0 if variant.family == "dense" else getattr(variant, "sparsity", None)
        facts = {"seconds": 1.0, "bytes": size, "gzipped_bytes": size, "sparsity": sparsity}
        save_population(store, variant.key, predictions, **facts)
        for i, condition in enumerate(store.study.conditions):
            worse = population(
                100 * number + i, noise=noise * (1 + 0.3 * condition.severity), **settings
            )
            for member in range(MEMBERS):
                store.evaluations.save(variant.key, member, condition.split, worse.member(member))
    return store
