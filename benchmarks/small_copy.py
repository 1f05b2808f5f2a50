"""A small copy of a study to give away: predictions, and the pictures that compression changes, no models."""

import dataclasses
import io
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image

from tfaudit.errors import plural, require
from tfaudit.stats.ranking import RankedClasses
from tfaudit.store import parquet
from tfaudit.store.members import own_facts
from tfaudit.store.store import TABLES, Store
from tfaudit.study.study import Study

TOP_K = 2
"""Classes of each prediction in a copy."""

STEPS = 256
"""Probabilities of a copy are multiples of one part in so many."""

QUALITY = 20
"""Quality of the copy's pictures in WebP, 0 to 100."""


def save_small_copy(
    store: Store,
    directory: str | Path,
    *,
    population: int | None = None,
    variants: Sequence[str] | None = None,
) -> Store:
    """Write a copy of a study without its models, and return its store.

    The copy holds the first two classes of every prediction, with rounded probabilities, and pictures or texts only of
    examples whose prediction a variant of the copy changes. Its audits of right, wrong and changed predictions are
    those of the study. Variants with missing members, and corruptions under which some members have not been tested,
    are left out.

    Args:
        store: the study.
        directory: directory of the copy, empty or missing.
        population: number of members of each variant; by default as many as the dense baseline has.
        variants: keys of the compressed variants of the copy, with those that they are made from; all by default.

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
    dense = store.members("dense")
    population = len(dense) if population is None else population
    require(
        1 <= population <= len(dense),
        "population",
        population,
        f"1 to {len(dense)}, the members of the baseline",
    )
    numbers = dense[:population]
    smaller = _smaller_study(store, numbers, variants)
    copy = Store.create(place, smaller, json.loads(store.read("study.json"))["versions"])
    predictions = {
        (key, number): parquet.read_predictions(
            store.read_checked(key, number, store.prediction_path(key, number))
        )
        for key in (variant.key for variant in smaller.all_variants)
        for number in numbers
    }
    first = {pair: ranked.classes[:, 0] for pair, ranked in predictions.items()}
    changed = np.any([first[pair] != first["dense", pair[1]] for pair in first], axis=0)
    _copy_examples(store, copy, changed)
    for (key, number), ranked in predictions.items():
        content = parquet.prediction_bytes(_fewer(ranked))
        facts = own_facts(store.record(key, number))
        copy.save_member(key, number, {copy.prediction_path(key, number): content}, facts)
    for condition in smaller.conditions:
        for pair in copy.evaluated_members():
            ranked = store.evaluations.read(*pair, condition.split)
            copy.evaluations.save(*pair, condition.split, _fewer(ranked))
    return copy


def _smaller_study(store: Store, numbers: Sequence[int], variants: Sequence[str] | None) -> Study:
    """Return the study of the copy: variants with all of these members, and corruptions that they were tested under."""
    study = store.study
    whole = [
        variant
        for variant in study.variants
        if set(numbers) <= set(store.members(variant.key))
        and (variants is None or variant.key in variants)
    ]
    keys = {"dense", *(variant.key for variant in whole)}
    wanted = [(k, n) for k, n in store.evaluated_members() if k in keys and n in numbers]
    untested = _untested_corruptions(store, wanted)
    evaluated = study.corrupted_variants
    return dataclasses.replace(
        study,
        population=max(numbers) + 1,
        variants=tuple(variant for variant in whole if variant.parent in (None, *keys)),
        corruptions=tuple(name for name in study.corruptions if name not in untested),
        benchmarks=(),
        corrupted_variants=evaluated and tuple(key for key in evaluated if key in keys),
        top_k=min(study.top_k, TOP_K),
    )


def _fewer(ranked: RankedClasses) -> RankedClasses:
    """Return the first classes of predictions, with rounded probabilities."""
    probabilities = ranked.probabilities
    if probabilities is not None:
        probabilities = np.round(probabilities[:, :TOP_K] * STEPS) / STEPS
    return RankedClasses(ranked.classes[:, :TOP_K], probabilities, ranked.ties)


def _untested_corruptions(store: Store, pairs: Sequence[tuple[str, int]]) -> set[str]:
    """Return the corruptions under which one of some variants and members has not been tested."""
    return {
        condition.corruption
        for condition in store.study.conditions
        if not all(store.evaluations.exists(*pair, condition.split) for pair in pairs)
    }


def _copy_examples(store: Store, copy: Store, changed: np.ndarray) -> None:
    examples = store.examples()
    remark = (
        "This is a small copy of a study: it holds the pictures or texts of the "
        f"{plural(int(changed.sum()), 'example')} whose prediction changes, and probabilities in steps of 1/{STEPS}."
    )
    copy.save_examples(
        "test",
        examples["label"].to_numpy(),
        examples["example"].tolist(),
        examples.attrs["class_names"],
        [
            small_image(image) if wanted else b""
            for image, wanted in zip(examples["image"], changed, strict=True)
        ],
        examples[examples.attrs["groups"]],
        (*store.remarks(), remark),
    )
    for name in TABLES:
        if (table := store.table(name)) is not None:
            copy.save_table(name, table)


def small_image(content: bytes) -> bytes:
    """Return a PNG as a lossy WebP; any other content as it is."""
    if not content.startswith(b"\x89PNG"):
        return content
    buffer = io.BytesIO()
    with Image.open(io.BytesIO(content)) as image:
        image.save(buffer, "WEBP", quality=QUALITY, method=6)
    return buffer.getvalue()
