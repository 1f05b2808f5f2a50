"""Import of predictions as a study, for the report and the viewer."""

import dataclasses
import importlib.metadata
import shutil
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pandas as pd

from tfaudit.errors import InputError, require
from tfaudit.predictions import Predictions, require_same_examples
from tfaudit.runtime.names import clean_name, clean_names, clean_table
from tfaudit.stats.group_codes import CLUSTER
from tfaudit.store.files import file_seal, lock
from tfaudit.store.judging import BY_DEFAULT, Judging
from tfaudit.store.parquet import example_bytes, prediction_bytes
from tfaudit.store.store import Store
from tfaudit.study.study import Study
from tfaudit.study.variants import ImportedPredictions, Variant

_REPLACED = ("members", "predictions", "examples")
"""Folders of a study that its next import replaces."""

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
    files: Mapping[str, Path] = MappingProxyType({}),
    remarks: Sequence[str] = (),
    judging: Judging = BY_DEFAULT,
) -> Store:
    """Write predictions of any origin into a study's directory.

    Members of one name have one number in every variant. The same study (name, descriptions, these variants or some of
    them) in the directory is replaced; another one is never touched.

    Args:
        directory: directory of the study; created if missing.
        baseline: predictions of the uncompressed models.
        compressed: predictions of the compressed models on the same examples, by name of the variant; populations may
            differ in size.
        name: name of the study.
        model: description of the models.
        dataset: description of the examples.
        paired: names of the variants whose models were made from the baseline's models of the same names.
        images: N PNGs in the order of the examples; none by default.
        groups: table of N rows in the order of the examples, with columns of text or numbers; none by default. A column
            `cluster` makes the clusters of the predictions; it is added if the baseline has clusters.
        facts: table indexed by "baseline" and the variants' names, with any of the columns `sparsity` (share of zeros),
            `bytes` and `gzipped_bytes` (of a model file); none by default.
        files: paths of the model files, by "baseline" and the variants' names; the study holds the paths alone.
        remarks: sentences about the examples that readers need; the report shows them.
        judging: how reports, gates and the viewer judge the study by default, with names instead of keys.

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
    names = clean_names(compressed, "compressed")
    pairs = set(map(clean_name, paired))
    if unknown := pairs.difference(names):
        raise InputError("paired", repr(min(unknown)), f"names of variants: {', '.join(names)}")
    sides = (baseline, *compressed.values())
    members = dict.fromkeys(member for population in sides for member in population.members)
    numbers = {member: number for number, member in enumerate(members)}
    study = Study(
        name=name,
        dataset=dataset,
        model=model,
        training=None,
        variants=tuple(ImportedPredictions(name, name in pairs) for name in names),
        population=len(numbers),
        top_k=max(population.ranked.shape[2] for population in sides),
    )
    for population in sides:
        require_same_examples(baseline, population)
    populations = dict(zip(study.all_variants, sides, strict=True))
    # before anything is written
    examples = _example_bytes(baseline, images, groups, remarks)
    recorded = _recorded(Path(directory), facts, files)
    imported = {
        variant.key: tuple(numbers[member] for member in population.members)
        for variant, population in populations.items()
    }
    versions = {"tfaudit": importlib.metadata.version("tfaudit")}
    require_no_other_folders("directory", Path(directory))
    with lock(directory):
        store = Store.create(directory, study, versions, imported)
        _remove_folders(store.directory)  # of the replaced study
        store.write("examples/test.parquet", examples)
        for variant, population in populations.items():
            name = variant.name if isinstance(variant, ImportedPredictions) else "baseline"
            _write(store, variant, population, numbers, recorded.get(name, {}))
        store.save_judging(_by_key(judging))
    return store


def _by_key(judging: Judging) -> Judging:
    """Return how a study is judged, with the keys of its variants for their names."""
    sequence = tuple(ImportedPredictions(clean_name(name)).key for name in judging.sequence)
    chosen = ImportedPredictions(clean_name(judging.chosen)).key if judging.chosen else ""
    return dataclasses.replace(judging, sequence=sequence, chosen=chosen)


def remove_imported(directory: Path) -> None:
    """Remove an imported study, `study.json` last: a folder that outlives a kill still belongs to a study."""
    if (directory / "study.json").exists():
        _remove_folders(directory)
        (directory / "study.json").unlink()


def _remove_folders(directory: Path) -> None:
    for folder in _REPLACED:
        shutil.rmtree(directory / folder, ignore_errors=True)


def require_no_other_folders(argument: str, directory: Path) -> None:
    """Raise an `InputError` if folders that a study's directory replaces are there and belong to no study."""
    others = [name for name in _REPLACED if (directory / name).exists()]
    if others and not (directory / "study.json").exists():
        got = f"{directory}, which holds {others[0]} and no study"
        raise InputError(argument, got, "a new directory, or that of a study")


def _example_bytes(
    baseline: Predictions,
    images: Sequence[bytes] | None,
    groups: pd.DataFrame | None,
    remarks: Sequence[str],
) -> bytes:
    """Return the file of the examples; images or groups of another number raise `InputError`."""
    count = baseline.num_examples
    images = [b""] * count if images is None else images
    if baseline.clusters is not None and (groups is None or CLUSTER not in groups):
        groups = pd.DataFrame(index=range(count)) if groups is None else groups
        groups = groups.assign(**{CLUSTER: baseline.clusters})
    if len(images) != count:
        raise InputError("images", f"{len(images)} images", f"{count}, one per example")
    return example_bytes(
        baseline.labels,
        [str(example) for example in baseline.example_ids],
        baseline.class_names,
        images,
        None if groups is None else clean_table(groups, "groups"),
        remarks=remarks,
        listed=baseline.listed,
    )


def _recorded(
    directory: Path, facts: pd.DataFrame | None, files: Mapping[str, Path]
) -> dict[str, dict[str, Any]]:
    """Return what the records of members hold about their models, by name of the variant.

    The path of a file within the directory is relative to it, so that both can move together.
    """
    recorded: dict[str, dict[str, Any]] = {}
    if facts is not None:
        numbers = facts.rename(index=clean_name).reindex(columns=[*_FACTS]).astype(float)
        for name, row in numbers.iterrows():
            known = row.dropna()
            recorded[str(name)] = dict(zip(map(str, known.index), known, strict=True))
    for name, path in files.items():
        whole = path.resolve()
        inside = whole.is_relative_to(directory.resolve())
        place = whole.relative_to(directory.resolve()) if inside else whole
        sealed = {"file": str(place), "file_sha256": file_seal(path)}
        recorded.setdefault(clean_name(name), {}).update(sealed)
    return recorded


def _write(
    store: Store,
    variant: Variant,
    population: Predictions,
    numbers: Mapping[object, int],
    recorded: Mapping[str, Any],
) -> None:
    """Write a variant's predictions, with the facts about its models that `member.json` records."""
    for position, member in enumerate(population.members):
        path = store.prediction_path(variant.key, numbers[member])
        content = prediction_bytes(population.member(position))
        record = {"name": str(member), **recorded}
        store.save_member(variant.key, numbers[member], {path: content}, record)
