"""A small synthetic study on disk, whose class names contain HTML."""

import io

import numpy as np
import pandas as pd
from PIL import Image

from tests.builders.populations import population
from tests.builders.small_stores import small_study
from tfaudit.store.parquet import prediction_bytes
from tfaudit.store.store import Store
from tfaudit.study.variants import Pruned, Quantized

NAMES = ("<b>cat</b>", "dog & co", 'owl "big"', "<script>alert(1)</script>", "élan")


def png(pixels):
    """Return uint8 pixels as PNG bytes."""
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "PNG")
    return buffer.getvalue()


TWO = (Pruned(0.9), Quantized("int8"))


def make_study(
    directory,
    *,
    members=4,
    missing=(),
    name="small",
    variants=TWO,
    harmed=1,
    groups=None,
    **settings,
):
    """Create a study of the dense baseline and variants, one of which harms class 3.

    Args:
        directory: of the study.
        members: of each variant.
        missing: pairs of variant and member that failed.
        name: of the study.
        variants: compressed variants.
        harmed: number of the variant that harms, from 1.
        groups: columns of groups, one row per example.
        **settings: further settings of the study.
    """
    study = small_study(name=name, variants=variants, population=members, **settings)
    store = Store.create(directory, study, {"tfaudit": "0.1.0", "keras": "3.15.1"})
    dense = population(0, members=members)
    images = [png(np.full((8, 8), i, np.uint8)) for i in range(dense.num_examples)]
    store.save_examples(
        "test", dense.labels, [f"test-{i}" for i in range(len(images))], NAMES, images, groups
    )
    for i, variant in enumerate(study.all_variants):
        predictions = population(i, members=members, hurt=[3] if i == harmed else [])
        for member in range(members):
            if (variant.key, member) in missing:
                store.save_failure(variant.key, member, "Traceback: no memory")
                continue
            record = {
                "seed": member,
                "seconds": 1.0,
                "bytes": 10_000 // (i + 1),
                "gzipped_bytes": 9_000 // (i + 1),
                "sparsity": {"dense": 0.0, "quantization": None}.get(
                    variant.family, getattr(variant, "sparsity", None)
                ),
            }
            content = prediction_bytes(predictions.member(member))
            store.save_member(
                variant.key, member, {store.prediction_path(variant.key, member): content}, record
            )
    return store


def before_and_after(store, key="magnitude-0.9", measure=lambda predictions: predictions):
    """The predictions of the baseline and of a variant, or what is measured of both."""
    return tuple(measure(store.predictions(variant)) for variant in ("dense", key))


def change_images(store, change):
    """Store the test examples again, with what `change` makes of the list of their images."""
    examples = store.examples()
    labels, names = examples["label"].to_numpy(), examples.attrs["class_names"]
    images = change(list(examples["image"]))
    store.save_examples("test", labels, list(examples["example"]), names, images)


def without_images(images):
    """What `change_images` takes to leave no image."""
    return [b""] * len(images)


EXAMPLES = 200
WRITERS = pd.DataFrame(
    {
        "series": np.where(np.arange(EXAMPLES) % 2, "student", "employee"),
        "writer": np.arange(EXAMPLES) // 4 * 2 + np.arange(EXAMPLES) % 2,
    }
)
