"""A copy of a study to give away: predictions and small images, no models."""

import dataclasses
import io
import json
from collections.abc import Sequence
from pathlib import Path

from PIL import Image

from tfaudit.errors import require
from tfaudit.store.members import own_facts
from tfaudit.store.store import TABLES, Store

COLOURS = 32


def save_copy_without_models(
    store: Store, directory: str | Path, *, population: int | None = None
) -> Store:
    """Write a copy of a study without its models, whose images have at most 32 colours, and return its store.

    Variants with missing members, and corruptions under which some members have not been tested, are left out. All
    audits of the copy equal those of the study, except for audits of the images' pixels.

    Args:
        store: the study.
        directory: directory of the copy, empty or missing.
        population: number of members of each variant; by default as many as the dense baseline has.

    Raises:
        InputError: the directory is not empty, or the baseline has too few members.
    """
    place = Path(directory)
    require(
        not place.exists() or not any(place.iterdir()),
        "directory",
        str(place),
        "an empty or missing folder",
    )
    study = store.study
    dense = store.members("dense")
    population = len(dense) if population is None else population
    require(
        1 <= population <= len(dense),
        "population",
        population,
        f"1 to {len(dense)}, the members of the baseline",
    )
    numbers = dense[:population]
    whole = [v for v in study.variants if set(numbers) <= set(store.members(v.key))]
    keys = {"dense", *(variant.key for variant in whole)}
    wanted = [(k, n) for k, n in store.evaluated_members() if k in keys and n in numbers]
    untested = _untested_corruptions(store, wanted)
    evaluated = study.corrupted_variants
    smaller = dataclasses.replace(
        study,
        population=max(numbers) + 1,
        variants=tuple(variant for variant in whole if variant.parent in (None, *keys)),
        corruptions=tuple(name for name in study.corruptions if name not in untested),
        benchmarks=(),
        corrupted_variants=evaluated and tuple(key for key in evaluated if key in keys),
    )
    copy = Store.create(place, smaller, json.loads(store.read("study.json"))["versions"])
    _copy_examples(store, copy)
    for variant in smaller.all_variants:
        for number in numbers:
            path = store.prediction_path(variant.key, number)
            content = store.read_checked(variant.key, number, path)
            facts = own_facts(store.record(variant.key, number))
            copy.save_member(variant.key, number, {path: content}, facts)
    for condition in smaller.conditions:
        for pair in copy.evaluated_members():
            copy.evaluations.save(
                *pair, condition.split, store.evaluations.read(*pair, condition.split)
            )
    return copy


def _untested_corruptions(store: Store, pairs: Sequence[tuple[str, int]]) -> set[str]:
    """Return the corruptions under which one of some variants and members has not been tested."""
    return {
        condition.corruption
        for condition in store.study.conditions
        if not all(store.evaluations.exists(*pair, condition.split) for pair in pairs)
    }


def _copy_examples(store: Store, copy: Store) -> None:
    examples = store.examples()
    copy.save_examples(
        "test",
        examples["label"].to_numpy(),
        examples["example"].tolist(),
        examples.attrs["class_names"],
        [small_image(image) for image in examples["image"]],
        examples[examples.attrs["groups"]],
        store.remarks(),
    )
    for name in TABLES:
        if (table := store.table(name)) is not None:
            copy.save_table(name, table)


def small_image(content: bytes) -> bytes:
    """Return a PNG in colour as one of at most 32 colours; any other content as it is."""
    if not content.startswith(b"\x89PNG"):
        return content
    with Image.open(io.BytesIO(content)) as image:
        if image.mode != "RGB":
            return content
        few = image.quantize(
            COLOURS, method=Image.Quantize.MEDIANCUT, kmeans=2, dither=Image.Dither.NONE
        )
    buffer = io.BytesIO()
    few.save(buffer, "PNG", optimize=True)
    return min(buffer.getvalue(), content, key=len)
