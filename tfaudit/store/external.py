"""Predictions that were made elsewhere, laid down as a study: reports and the viewer work on them."""

from __future__ import annotations

import importlib.metadata
import shutil
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from tfaudit.errors import InputError, require
from tfaudit.predictions import Predictions, require_same_examples
from tfaudit.store.files import lock
from tfaudit.store.parquet import example_bytes, prediction_bytes
from tfaudit.store.store import Store
from tfaudit.study.study import Study
from tfaudit.study.variants import Given

__all__ = ["write_given"]

_FACTS = ("sparsity", "bytes", "gzipped_bytes")


def write_given(
    directory: str | Path,
    baseline: Predictions,
    compressed: Mapping[str, Predictions],
    *,
    name: str,
    model: str = "models",
    dataset: str = "given predictions",
    paired: Collection[str] = (),
    images: Sequence[bytes] | None = None,
    groups: pd.DataFrame | None = None,
    facts: pd.DataFrame | None = None,
) -> Store:
    """Writes predictions into a study's directory.

    Members keep what belongs together: those of one name get one number in every variant.

    The same study (name, variants, words) in the directory is written anew; another one is never touched.

    Args:
        directory: where; made if missing.
        baseline: of the uncompressed models.
        compressed: by name of the variant, on the same examples; populations may differ in size.
        name: of the study.
        model: what the models are, for people.
        dataset: what the examples are, for people.
        paired: names of the variants whose models were made from the baseline's models of the same names.
        images: N PNGs in the order of the examples.
        groups: N rows in that order; columns of text or numbers.
        facts: indexed by the variants' names, and "baseline", any of the columns `sparsity` (share of zeros), `bytes`
            and `gzipped_bytes` (of a model file).

    Returns:
        The store; its split is "test", the baseline's key "dense".

    Raises:
        InputError: no or unfit variants, other examples, groups or images of another length, or a directory that holds
            another study, is in use or cannot be written.

    Example:
        >>> import tempfile
        >>> before, after = (Predictions.from_top1([0, 1], [[0, 1], [0, last]]) for last in (1, 0))
        >>> with tempfile.TemporaryDirectory() as directory:
        ...     store = write_given(directory, before, {"int 8": after}, name="mine")
        ...     store.variants, store.predictions(store.variants[1]).accuracy()
        (('dense', 'int-8-67873ea1'), array([1. , 0.5]))
    """
    require(len(compressed) > 0, "compressed", dict(compressed), "at least one variant")
    if strangers := set(paired) - set(compressed):
        raise InputError(f"paired: {min(strangers)!r}, the variants are {', '.join(compressed)}")
    variants = {Given(name, name in paired): population for name, population in compressed.items()}
    for population in compressed.values():
        require_same_examples(baseline, population)
    if images is None:
        images = [b""] * baseline.num_examples
    if len(images) != baseline.num_examples:
        raise InputError(f"images: {len(images)} for {baseline.num_examples} examples")
    everybody = (baseline, *compressed.values())
    members = dict.fromkeys(member for population in everybody for member in population.members)
    numbers = {member: number for number, member in enumerate(members)}  # one name, one number, in every variant
    study = Study(
        name=name,
        dataset=dataset,
        model=model,
        training=None,
        variants=tuple(variants),
        population=len(numbers),
        top_k=max(population.ranked.shape[2] for population in everybody),
    )
    ids = [str(example) for example in baseline.example_ids]
    examples = example_bytes(baseline.labels, ids, baseline.class_names, images, groups)  # bad groups end it here
    try:
        with lock(directory):
            store = Store.create(directory, study, {"tfaudit": importlib.metadata.version("tfaudit")})
            for room in ("members", "predictions", "examples"):  # of the same study: nothing of it may mix with this
                shutil.rmtree(store.directory / room, ignore_errors=True)
            store.write("examples/test.parquet", examples)
            _write(store, study.all_variants[0].key, baseline, numbers, _known(facts, "baseline"))
            for variant, population in variants.items():
                _write(store, variant.key, population, numbers, _known(facts, variant.name))
    except OSError as problem:
        raise InputError(f"directory: {directory} cannot be written ({problem.strerror})") from problem
    return store


def _write(
    store: Store, key: str, population: Predictions, numbers: Mapping[object, int], facts: Mapping[str, Any]
) -> None:
    for place, member in enumerate(population.members):
        content = prediction_bytes(population.member(place))
        path = store.prediction_path(key, numbers[member])
        store.save_member(key, numbers[member], {path: content}, {"name": str(member), **facts})


def _known(facts: pd.DataFrame | None, name: str) -> dict[str, float]:
    """What is known of one variant's models, as `member.json` records it."""
    if facts is None or name not in facts.index:
        return {}
    known = facts.reindex(index=[name], columns=[*_FACTS]).astype(float).to_dict("records")[0]
    return {str(fact): value for fact, value in known.items() if pd.notna(value)}
