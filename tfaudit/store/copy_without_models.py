"""A copy of a study to give away: predictions and small images, no models."""

import dataclasses
import io
import json
from collections.abc import Iterable, Sequence
from pathlib import Path

from PIL import Image

from tfaudit.errors import require
from tfaudit.store.members import RECORD_KEYS
from tfaudit.store.store import Store
from tfaudit.study.study import Study
from tfaudit.study.variants import Variant

COLOURS = 32
TABLES = ("classes", "costs")


def save_copy_without_models(
    store: Store, directory: str | Path, *, population: int | None = None
) -> Store:
    """Write a copy of a study without its models, whose images have at most 32 colours, and return its store.

    Variants of which members are missing, and corruptions under which some have not been tested, are left out. All
    audits of the copy equal those of the study, but for those of the images' pixels.

    Args:
        store: the study.
        directory: of the copy; empty or missing.
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
    wanted = {(v.key, n) for v in (study.all_variants[0], *whole) for n in numbers} & set(
        store.evaluated_members()
    )

    def is_tested(corruption: str) -> bool:
        splits = [
            condition.split for condition in study.conditions if condition.corruption == corruption
        ]
        return all(store.evaluations.exists(*pair, split) for split in splits for pair in wanted)

    smaller = _smaller_study(study, whole, filter(is_tested, study.corruptions), max(numbers) + 1)
    copy = Store.create(place, smaller, json.loads(store.read("study.json"))["versions"])
    _copy_examples(store, copy)
    for variant in smaller.all_variants:
        for number in numbers:
            _copy_member(store, copy, variant.key, number)
    for condition in smaller.conditions:
        for pair in copy.evaluated_members():
            copy.evaluations.save(
                *pair, condition.split, store.evaluations.read(*pair, condition.split)
            )
    return copy


def _smaller_study(
    study: Study, variants: Sequence[Variant], corruptions: Iterable[str], population: int
) -> Study:
    """Return a study of some of the variants and corruptions, without benchmarks."""
    kept = {"dense", *(variant.key for variant in variants)}
    evaluated = study.corrupted_variants
    return dataclasses.replace(
        study,
        population=population,
        variants=tuple(variant for variant in variants if variant.parent in (None, *kept)),
        corruptions=tuple(corruptions),
        benchmarks=(),
        corrupted_variants=evaluated and tuple(key for key in evaluated if key in kept),
    )


def _copy_member(store: Store, copy: Store, key: str, number: int) -> None:
    record = store.record(key, number)
    path = store.prediction_path(key, number)
    facts = {name: value for name, value in record.items() if name not in RECORD_KEYS}
    copy.save_member(key, number, {path: store.read_checked(key, number, path)}, facts)


def _copy_examples(store: Store, copy: Store) -> None:
    examples = store.examples("test")
    groups = examples[examples.attrs["groups"]] if examples.attrs["groups"] else None
    images = [small_image(image) for image in examples["image"]]
    names = examples.attrs["class_names"]
    remarks = store.remarks("test")
    copy.save_examples(
        "test",
        examples["label"].to_numpy(),
        examples["example"].tolist(),
        names,
        images,
        groups,
        remarks,
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
