"""Sources of `tfaudit gate`: the directory of a study, files of predictions, or files of models."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tfaudit.cli.console import out
from tfaudit.errors import InputError
from tfaudit.predictions import Predictions
from tfaudit.store.store import Store, open_store


@dataclasses.dataclass(frozen=True)
class Candidate:
    """One compressed model or population, and the baseline that it is compared with."""

    baseline: Predictions  # predictions of the uncompressed model or population
    compressed: Predictions  # predictions of the compressed one on the same examples
    sizes: tuple[float, float] | None = (
        None  # bytes of the two model files, means over members; None where unknown
    )
    paired: bool = (
        False  # whether compressed members are made from the baseline's members of the same names
    )
    missing: tuple[str, ...] = ()  # results of both that the study should hold, in words
    notes: tuple[str, ...] = ()  # what a reader of the verdict needs to know, one sentence each


def from_study(directory: Path, variants: Sequence[str] | None, split: str) -> dict[str, Candidate]:
    """Return a study's compressed variants by key, all by default, with their predictions; may raise `InputError`."""
    store = open_store(directory)
    if split not in store.splits:
        splits = ", ".join(store.splits) or "none yet"
        raise InputError(
            "split", repr(split), f"a split with predictions in {directory} ({splits})"
        )
    if "dense" not in store.variants:
        raise InputError(
            "directory",
            f"{directory} without a complete dense member",
            "a baseline to compare with",
        )
    compressed = [key for key in store.variants if key != "dense"]
    keys = list(variants) if variants else compressed
    unknown = [key for key in keys if key not in compressed]
    if unknown or not compressed:
        got = repr(unknown[0]) if unknown else "none"
        raise InputError(
            "variant",
            got,
            f"a compressed variant in {directory} ({', '.join(compressed) or 'none'})",
        )
    baseline, size = store.predictions("dense", split), _mean_bytes(store, "dense")
    gaps = store.missing(split)
    nothing = (
        sorted({gap.variant for gap in gaps} - {"dense", *store.variants})
        if variants is None
        else []
    )
    if nothing:
        got = f"no complete member of {', '.join(nothing)}"
        raise InputError(
            "directory",
            got,
            "one or more; `tfaudit run` makes them, --variant judges the others alone",
        )
    candidates = {}
    for key in keys:
        own_size, paired = _mean_bytes(store, key), store.study.is_made_from_dense(key)
        sizes = None if size is None or own_size is None else (size, own_size)
        own = [
            f"{gap.variant}, member {gap.member} ({gap.reason})"
            for gap in gaps
            if gap.variant in ("dense", key)
        ]
        predictions, remarks = store.predictions(key, split), store.remarks(split)
        candidates[key] = Candidate(baseline, predictions, sizes, paired, tuple(own), remarks)
    return candidates


def _mean_bytes(store: Store, variant: str) -> float | None:
    sizes = [
        store.record(variant, member).get("bytes", np.nan) for member in store.members(variant)
    ]
    mean = float(np.mean(np.array(sizes, float))) if sizes else np.nan
    return None if np.isnan(mean) else mean


def from_files(
    labels: Path,
    baseline: Sequence[str],
    compressed: Sequence[str],
    *,
    paired: bool,
    **options: Any,
) -> dict[str, Candidate]:
    """Return populations from files, as `tfaudit audit` reads them, paired in their order.

    `options` and errors are those of `read_populations`.
    """
    from tfaudit.cli.audit import files_of, variants_of
    from tfaudit.readers.prediction_files import read_populations

    files = {"": files_of(baseline, "baseline"), **variants_of(compressed)}
    populations = read_populations(labels, files, **options)
    reference = populations.pop("")
    return {
        name: Candidate(reference, population, None, paired)
        for name, population in populations.items()
    }


def from_models(
    baseline: Sequence[str], compressed: Sequence[str], data: str, **options: Any
) -> dict[str, Candidate]:
    """Return single models, with their predictions on data; `options` and errors are those of `predict_models`."""
    from tfaudit.cli.model_predictions import predict_models

    if len(baseline) != 1:
        raise InputError("baseline", f"{len(baseline)} files", "one model")
    models = predict_models(
        Path(baseline[0]), [Path(word) for word in compressed], data, console=out, **options
    )
    size = models.bytes["baseline"]
    return {
        name: Candidate(
            models.baseline, predictions, (size, models.bytes[name]), notes=models.notes
        )
        for name, predictions in models.compressed.items()
    }
