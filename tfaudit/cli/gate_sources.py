"""Sources of `tfaudit gate`: the directory of a study, files of predictions, or files of models."""

import dataclasses
import itertools
import math
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from tfaudit.analysis.stored_images import word_for
from tfaudit.analysis.study_data import Populations
from tfaudit.audits.gate.gate import Verdict, gate
from tfaudit.audits.gate.limits import Limits
from tfaudit.audits.gate.measurements import Corrupted
from tfaudit.audits.robustness.condition_rates import CorruptionLevel
from tfaudit.cli.options import ImageOptions
from tfaudit.errors import InputError, require
from tfaudit.predictions import Predictions
from tfaudit.readers.prediction_files import PredictionFiles
from tfaudit.store.store import Missing, Store, open_store
from tfaudit.study.conditions import Condition


@dataclasses.dataclass(frozen=True)
class GatedModel:
    """One compressed model or population, and the baseline that it is compared with.

    Attributes:
        baseline: predictions of the uncompressed model or population.
        compressed: predictions of the compressed one on the same examples.
        sizes: bytes of the two model files, means over members; None if unknown.
        paired: whether compressed members are made from the baseline's members of the same names.
        missing: missing results of the baseline and the variant that the study should hold, in words.
        notes: facts that a reader of the verdict needs to know, one sentence each.
        corrupted: predictions of both under corruption, as for `tfaudit.gate`; None if there are none.
        examples_are: word for the examples, such as "rows".
    """

    baseline: Predictions
    compressed: Predictions
    sizes: tuple[float, float] | None = None
    paired: bool = False
    missing: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    corrupted: Corrupted | None = None
    examples_are: str = "images"

    def judged(self, limits: Limits, *, allow_missing: int = 0, **looks: Any) -> Verdict:
        """Return the verdict; `looks` are `alpha`, `looks` and `look`, as in `tfaudit.gate`."""
        verdict = gate(
            self.baseline,
            self.compressed,
            limits,
            sizes=self.sizes,
            paired=self.paired,
            corrupted=self.corrupted,
            **looks,
        ).with_missing(self.missing, allow_missing)
        verdict = verdict.about(self.examples_are)
        return dataclasses.replace(verdict, notes=(*self.notes, *verdict.notes))


def from_study(
    directory: Path,
    variants: Sequence[str] | None,
    split: str,
    *,
    population: float = math.inf,
    corrupted: bool = False,
) -> dict[str, GatedModel]:
    """Return a study's compressed variants by key, all by default, with their predictions; may raise `InputError`.

    With `population`, members of this number and above are left out, and are not missed. With `corrupted`, predictions
    of the test images under the study's corruptions come along, and missing ones are missed.
    """
    store = open_store(directory)
    keys = _compressed_variants(store, variants, split)
    conditions = store.study.conditions if corrupted and split == "test" else ()
    judged = _JudgedStudy(store, split, population, conditions)
    absent = {gap.variant for gap in judged.gaps} - {"dense", *store.variants}
    if absent and variants is None:
        got = f"no complete member of {', '.join(sorted(absent))}"
        expected = "one or more; `tfaudit run` makes them, --variant judges the others alone"
        raise InputError("directory", got, expected)
    baseline = judged.predictions("dense", split)
    candidates = {}
    for key in keys:
        sizes = _mean_bytes(store, "dense"), _mean_bytes(store, key)
        candidates[key] = GatedModel(
            baseline,
            judged.predictions(key, split),
            sizes=None if np.isnan(sizes).any() else sizes,
            paired=store.study.is_made_from_dense(key),
            missing=judged.missing(key),
            notes=store.remarks(split),
            corrupted=judged.corrupted(key),
            examples_are=word_for(store.images(split, [0])[0]),
        )
    return candidates


@dataclasses.dataclass(frozen=True)
class _JudgedStudy:
    """The part of a study that is judged: a split, members below a number, and corruptions of the test images."""

    store: Store
    split: str
    population: float
    conditions: tuple[Condition, ...]

    @cached_property
    def gaps(self) -> list[Missing]:
        """The results that this part should hold and does not."""
        splits = (self.split, *(condition.split for condition in self.conditions))
        gaps = itertools.chain.from_iterable(map(self.store.missing, splits))
        return [gap for gap in gaps if gap.member < self.population]

    def missing(self, key: str) -> tuple[str, ...]:
        """Return in words what is missing of a variant and of the baseline."""
        where = {condition.split: f" in {condition.title}" for condition in self.conditions}
        members = [
            f"{gap.variant}, member {gap.member}{where.get(gap.split, '')} ({gap.reason})"
            for gap in self.gaps
            if gap.variant in ("dense", key)
        ]
        untested = [c.title for c in self.conditions if c not in self.store.conditions]
        return (*members, *(f"all members in {title}" for title in untested))

    def predictions(self, key: str, split: str) -> Predictions:
        """Return the predictions of a variant's members."""
        return self.store.predictions(key, split, members=self._members(key))

    def corrupted(self, key: str) -> Corrupted | None:
        """Return the predictions of baseline and variant under the corruptions that both were tested with, if any."""
        levels: list[CorruptionLevel] = [
            condition
            for condition in self.conditions
            if all(self._is_tested(variant, condition) for variant in ("dense", key))
        ]

        def side(variant: str) -> Populations[CorruptionLevel]:
            return Populations(
                levels, lambda level: self.predictions(variant, Condition(*level).split)
            )

        return (side("dense"), side(key)) if levels else None

    def _is_tested(self, key: str, condition: Condition) -> bool:
        exists = self.store.evaluations.exists
        return any(exists(key, member, condition.split) for member in self._members(key))

    def _members(self, key: str) -> list[int]:
        return [member for member in self.store.members(key) if member < self.population]


def _compressed_variants(store: Store, variants: Sequence[str] | None, split: str) -> Sequence[str]:
    """Return the keys to judge; an unknown key or split, or a missing baseline, raises `InputError`."""
    directory = store.directory
    if split not in store.splits:
        splits = ", ".join(store.splits) or "none yet"
        raise InputError(
            "split", repr(split), f"a split with predictions in {directory} ({splits})"
        )
    if "dense" not in store.variants:
        got = f"{directory} without a complete dense member"
        raise InputError("directory", got, "a baseline to compare with")
    compressed = [key for key in store.variants if key != "dense"]
    keys = variants or compressed
    expected = f"a compressed variant in {directory} ({', '.join(compressed) or 'none'})"
    if not compressed:
        raise InputError("variant", "none", expected)
    for key in keys:
        require(key in compressed, "variant", key, expected)
    return keys


def _mean_bytes(store: Store, variant: str) -> float:
    """Return the mean size of the members of a variant in bytes; NaN if any is unknown."""
    records = [store.record(variant, member) for member in store.members(variant)]
    return float(np.mean([record.get("bytes") or np.nan for record in records]))


def from_files(
    source: PredictionFiles, baseline: Sequence[str], compressed: Sequence[str], *, paired: bool
) -> dict[str, GatedModel]:
    """Return populations from files, paired in their order; reads them and raises errors as `tfaudit audit` does."""
    from tfaudit.cli.audit import read_files

    reference, populations = read_files(source, baseline, compressed)
    return {
        name: GatedModel(reference, population, paired=paired)
        for name, population in populations.items()
    }


def from_models(
    baseline: Sequence[str], compressed: Sequence[str], data: str, options: ImageOptions
) -> dict[str, GatedModel]:
    """Return single models, with their predictions on data; raises the errors of `predict_models`."""
    from tfaudit.cli.model_predictions import predict_models

    if len(baseline) != 1:
        raise InputError("baseline", f"{len(baseline)} files", "one model")
    paths = [Path(word) for word in compressed]
    models = predict_models(Path(baseline[0]), paths, data, options)
    size = models.sizes["baseline"]
    return {
        name: GatedModel(
            models.baseline,
            predictions,
            (size, models.sizes[name]),
            notes=models.notes,
            examples_are=models.examples_are,
        )
        for name, predictions in models.compressed.items()
    }
