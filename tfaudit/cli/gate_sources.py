"""What `tfaudit gate` may be given: the directory of a study, files of predictions, or files of models."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tfaudit.errors import InputError
from tfaudit.predictions import Predictions
from tfaudit.store.store import Store, open_store

__all__ = ["Candidate", "from_files", "from_study"]


@dataclasses.dataclass(frozen=True)
class Candidate:
    """One compressed model or population, and what it is held against.

    Attributes:
        baseline: predictions of the uncompressed one.
        compressed: its predictions, of the same examples.
        sizes: bytes of the two model files, means over members; None where unknown.
        paired: whether members of one name were made from one another.
    """

    baseline: Predictions
    compressed: Predictions
    sizes: tuple[float, float] | None = None
    paired: bool = False


def from_study(directory: Path, variants: Sequence[str] | None, split: str) -> dict[str, Candidate]:
    """The compressed variants of a study by key.

    Args:
        directory: of the study.
        variants: keys; all by default.
        split: whose predictions to read.

    Raises:
        InputError: no such study, variant or split, or nothing to compare.
    """
    store = open_store(directory)
    if split not in store.splits:
        raise InputError(f"split: {split!r}, predicted in {directory} are {', '.join(store.splits) or 'none yet'}")
    if "dense" not in store.variants:
        raise InputError(f"directory: {directory} has no complete dense member to compare with")
    there = [key for key in store.variants if key != "dense"]
    keys = list(variants) if variants else there
    unknown = [key for key in keys if key not in there]
    if unknown or not there:
        given = repr(unknown[0]) if unknown else "none"
        raise InputError(f"variant: {given}, compressed variants in {directory} are {', '.join(there) or 'none'}")
    baseline, size = store.predictions("dense", split), _mean_bytes(store, "dense")
    return {
        key: Candidate(
            baseline,
            store.predictions(key, split),
            None if size is None or (own := _mean_bytes(store, key)) is None else (size, own),
            store.study.variant(key).parent is not None,
        )
        for key in keys
    }


def _mean_bytes(store: Store, variant: str) -> float | None:
    sizes = [store.record(variant, member).get("bytes") for member in store.members(variant)]
    known = [size for size in sizes if size is not None]
    return float(np.mean(known)) if known and len(known) == len(sizes) else None


def from_files(
    labels: Path,
    baseline: Sequence[str],
    compressed: Sequence[str],
    *,
    classes: Path | None,
    id_name: str | None,
    paired: bool,
) -> dict[str, Candidate]:
    """Populations from files of predictions, as `tfaudit audit` reads them.

    Args:
        labels: file of the true classes.
        baseline: files or globs.
        compressed: files or globs, `NAME=FILES` for several variants.
        classes: file of class names.
        id_name: column of the example ids.
        paired: whether members of one place were made from one another.

    Raises:
        InputError: files that cannot be read, or do not fit each other.
    """
    from tfaudit.cli.audit import files_of, variants_of
    from tfaudit.readers.prediction_files import read_populations

    files = {"": files_of(baseline, "baseline"), **variants_of(compressed)}
    populations = read_populations(labels, files, classes=classes, id_name=id_name)
    reference = populations.pop("")
    return {name: Candidate(reference, each, None, paired) for name, each in populations.items()}
