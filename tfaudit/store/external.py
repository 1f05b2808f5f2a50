"""Import of predictions as a study, for the report and the viewer."""

import importlib.metadata
import shutil
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from tfaudit.errors import InputError, require
from tfaudit.predictions import Predictions, require_same_examples
from tfaudit.runtime.names import clean_name, clean_names, clean_table
from tfaudit.store.files import lock
from tfaudit.store.parquet import example_bytes, prediction_bytes
from tfaudit.store.store import Store
from tfaudit.study.study import Study
from tfaudit.study.variants import ImportedPredictions

_FACTS = ("sparsity", "bytes", "gzipped_bytes")


def import_predictions(
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
    remarks: Sequence[str] = (),
) -> Store:
    """Write predictions of any origin into a study's directory.

    Members of one name have one number in every variant. The same study (name, variants, descriptions) in the directory
    is replaced; another one is never touched.

    Args:
        directory: of the study; created if missing.
        baseline: predictions of the uncompressed models.
        compressed: predictions by name of the variant, on the same examples; populations may differ in size.
        name: name of the study.
        model: description of the models.
        dataset: description of the examples.
        paired: names of the variants whose models were made from the baseline's models of the same names.
        images: N PNGs in the order of the examples.
        groups: N rows in the order of the examples; columns of text or numbers.
        facts: indexed by "baseline" and the variants' names, with any of the columns `sparsity` (share of zeros),
            `bytes` and `gzipped_bytes` (of a model file).
        remarks: what a reader needs to know of the examples, one sentence each; the report shows them.

    Returns:
        The store; its split is "test", the baseline's key "dense".

    Raises:
        InputError: there are no variants, a name is invalid, examples, groups or images do not match, or the directory
            holds another study, is in use or cannot be written.

    Example:
        >>> import tempfile
        >>> before, after = (Predictions.from_top1([0, 1], [[0, 1], [0, last]]) for last in (1, 0))
        >>> with tempfile.TemporaryDirectory() as directory:
        ...     store = import_predictions(directory, before, {"int 8": after}, name="mine")
        ...     store.variants, store.predictions(store.variants[1]).accuracy()
        (('dense', 'int-8-67873ea1'), array([1. , 0.5]))
    """
    require(len(compressed) > 0, "compressed", dict(compressed), "at least one variant")
    compressed = dict(zip(clean_names(compressed, "compressed"), compressed.values(), strict=True))
    paired, groups = (
        set(map(clean_name, paired)),
        None if groups is None else clean_table(groups, "groups"),
    )
    facts = None if facts is None else facts.rename(index=clean_name)
    if unknown := set(paired) - set(compressed):
        raise InputError(
            "paired", repr(min(unknown)), f"names of variants: {', '.join(compressed)}"
        )
    variants = {
        ImportedPredictions(key, key in paired): population
        for key, population in compressed.items()
    }
    for population in compressed.values():
        require_same_examples(baseline, population)
    images = [b""] * baseline.num_examples if images is None else images
    if len(images) != baseline.num_examples:
        raise InputError(
            "images", f"{len(images)} images", f"{baseline.num_examples}, one per example"
        )
    populations = (baseline, *compressed.values())
    members = dict.fromkeys(member for population in populations for member in population.members)
    numbers = {member: number for number, member in enumerate(members)}
    k, size = max(population.ranked.shape[2] for population in populations), len(numbers)
    study = Study(
        name=name,
        dataset=dataset,
        model=model,
        training=None,
        variants=tuple(variants),
        population=size,
        top_k=k,
    )
    ids = [str(example) for example in baseline.example_ids]
    # before anything is written
    examples = example_bytes(
        baseline.labels, ids, baseline.class_names, images, groups, remarks=remarks
    )
    try:
        with lock(directory):
            keys = [variant.key for variant in study.all_variants]
            imported = {
                key: tuple(numbers[member] for member in population.members)
                for key, population in zip(keys, populations, strict=True)
            }
            store = Store.create(
                directory, study, {"tfaudit": importlib.metadata.version("tfaudit")}, imported
            )
            for folder in (
                "members",
                "predictions",
                "examples",
            ):  # nothing of the replaced study may remain
                shutil.rmtree(store.directory / folder, ignore_errors=True)
            store.write("examples/test.parquet", examples)
            _write(
                store, study.all_variants[0].key, baseline, numbers, _facts_of(facts, "baseline")
            )
            for variant, population in variants.items():
                _write(store, variant.key, population, numbers, _facts_of(facts, variant.name))
    except OSError as problem:
        got = f"{directory}, which cannot be written ({problem.strerror})"
        raise InputError("directory", got, "a directory that can be written") from problem
    return store


def _write(
    store: Store,
    key: str,
    population: Predictions,
    numbers: Mapping[object, int],
    facts: Mapping[str, Any],
) -> None:
    for position, member in enumerate(population.members):
        path = store.prediction_path(key, numbers[member])
        content = prediction_bytes(population.member(position))
        store.save_member(key, numbers[member], {path: content}, {"name": str(member), **facts})


def _facts_of(facts: pd.DataFrame | None, name: str) -> dict[str, float]:
    """Return the facts about one variant's models as `member.json` records them."""
    if facts is None or name not in facts.index:
        return {}
    values = facts.reindex(index=[name], columns=[*_FACTS]).astype(float).to_dict("records")[0]
    return {str(fact): value for fact, value in values.items() if pd.notna(value)}
