"""Sources of `tfaudit gate`: the directory of a study, files of predictions, or files of models."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from tfaudit.analysis.audits import AUDITS
from tfaudit.analysis.study_data import BASELINE, StudyData
from tfaudit.audits.gate.gate import Verdict, gate
from tfaudit.audits.gate.limits import Limits
from tfaudit.audits.gate.measurements import Corrupted, TestedSlices
from tfaudit.cli.named_groups import GroupOptions, by_id
from tfaudit.cli.options import ImageOptions
from tfaudit.cli.steps import Steps
from tfaudit.errors import InputError, require
from tfaudit.extensions import Registry
from tfaudit.outcomes import Outcomes
from tfaudit.predictions import Predictions
from tfaudit.readers.outcome_files import OutcomeFiles
from tfaudit.readers.prediction_files import PredictionFiles, read_groups
from tfaudit.store.store import Store, open_store

LIMITS = Registry("limits", {})
"""What limits need beside predictions, by name: functions of both populations and the features of the examples."""


@dataclasses.dataclass(frozen=True)
class GatedModel:
    """One compressed model or population, and the baseline that it is compared with.

    Attributes:
        baseline: predictions of the uncompressed model or population, or outcomes of its examples.
        compressed: predictions of the compressed one on the same examples.
        sizes: bytes of the two model files, means over members, NaN where a study does not know them; None for
            predictions.
        gzipped: the same of the gzipped files; None where only those on disk are known.
        file: file of the compressed model; None for predictions and studies.
        signature: name of its signature, as in `predict`.
        paired: whether compressed members are made from the baseline's members of the same names.
        missing: missing results of the baseline and the variant that the study should hold, in words.
        notes: facts that a reader of the verdict needs to know, one sentence each.
        corrupted: predictions of both under corruption, as for `tfaudit.gate`; None if there are none.
        groups: named groups of the examples; None without any.
        slices: slices of these predictions; None if they were not searched.
        name: name of the variant in a study, for readers; empty for files.
    """

    baseline: Predictions | Outcomes
    compressed: Predictions | Outcomes
    sizes: tuple[float, float] | None = None
    gzipped: tuple[float, float] | None = None
    file: Path | None = None
    signature: str | None = None
    paired: bool = False
    missing: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    corrupted: Corrupted | None = None
    groups: pd.DataFrame | None = None
    slices: TestedSlices | None = None
    name: str = ""

    def at_threshold(self, threshold: float | None, positive: str | None) -> GatedModel:
        """Return the same models, but `positive` is predicted from a probability on; with None, nothing changes."""
        if threshold is None:
            return self

        def side(predictions: Predictions | Outcomes) -> Predictions:
            if isinstance(predictions, Outcomes):
                raise InputError("threshold", f"{threshold:g}", "no threshold for outcomes")
            return predictions.at_threshold(threshold, positive)

        corrupted = self.corrupted
        if corrupted is not None:
            before, after = (
                {level: side(predictions) for level, predictions in levels.items()}
                for levels in corrupted
            )
            corrupted = before, after
        return dataclasses.replace(
            self,
            baseline=side(self.baseline),
            compressed=side(self.compressed),
            corrupted=corrupted,
        )

    def judged(self, limits: Limits, *, allow_missing: int = 0, **settings: Any) -> Verdict:
        """Return the verdict; `settings` are `alpha`, `looks`, `look` and `min_group`, as in `tfaudit.gate`."""
        verdict = gate(
            self.baseline,
            self.compressed,
            limits,
            sizes=self.sizes,
            latency_ms=self._latency_ms(limits),
            paired=self.paired,
            corrupted=self.corrupted,
            groups=self.groups,
            slices=self.slices,
            **settings,
        ).with_missing(self.missing, allow_missing)
        return dataclasses.replace(verdict, notes=(*self.notes, *verdict.notes))

    def _latency_ms(self, limits: Limits) -> float:
        """Return the latency of the file in milliseconds; NaN if it is not limited, or there is no file."""
        if self.file is None:
            return math.nan
        from tfaudit.compress.litert.latency import limited_latency

        return limited_latency(self.file, limits, self.signature)


def from_study(
    directory: Path,
    variants: Sequence[str] | None,
    split: str,
    *,
    population: float = math.inf,
    corrupted: bool = False,
    groups: GroupOptions | None = None,
    slices: bool = False,
    steps: Steps | None = None,
) -> dict[str, GatedModel]:
    """Return a study's compressed variants by key, all by default, with their predictions; may raise `InputError`.

    With `population`, members of this number and above are left out, and are not missed. With `corrupted`, predictions
    of the test images under the study's corruptions come along, and missing ones are missed; `groups` are those of the
    examples, and `slices` are searched.
    """
    store = open_store(directory)
    keys = _compressed_variants(store, variants, split)
    steps = steps or Steps()
    steps.plan(1 + len(keys))
    steps.begin(f"Reading {directory}")
    data = StudyData(store, split, population=population)
    absent = {gap.variant for gap in data.gaps(split)} - {"dense", *store.variants}
    if absent and variants is None:
        got = f"no complete member of {', '.join(sorted(absent))}"
        expected = "one or more; `tfaudit run` makes them, --variant judges the others alone"
        raise InputError("directory", got, expected)
    missing = data.missing(corrupted=corrupted)
    named = None if groups is None else _groups_of_study(data, groups)
    pairs = {}
    for key in keys:
        steps.begin(f"Reading {store.study.names[key]}")
        pairs[key] = GatedModel(
            data.baseline,
            data.populations[key],
            sizes=_mean_bytes(data, key, "bytes"),
            gzipped=_mean_bytes(data, key, "gzipped_bytes"),
            paired=data.is_paired(key),
            missing=missing[key],
            notes=store.remarks(split),
            corrupted=data.corrupted_pair(key) if corrupted and data.conditions_of(key) else None,
            groups=named,
            slices=_slices(data, key) if slices else None,
            name=store.study.names[key],
        )
    return pairs


def _groups_of_study(data: StudyData, groups: GroupOptions) -> pd.DataFrame | None:
    """Return the named groups of a study's examples; None without any."""
    where = str(data.store.directory)
    ids = data.store.examples(data.split, images=False, groups=False)["example"].to_numpy()
    own = None
    if groups.group or data.group_columns:
        columns = data.groups if groups.group else data.groups[data.group_columns]
        own = columns.reset_index(drop=True)
    return groups.of(by_id(ids, len(ids), where), own, where)


def _slices(data: StudyData, key: str) -> TestedSlices | None:
    """Return the slices of a variant; None without features or without the extension that searches them."""
    audit = AUDITS.get("slices")
    return audit.compute(data, key) if audit and data.has_features else None


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
    names = ", ".join(store.study.names[key] for key in compressed) or "none"
    expected = f"a compressed variant in {directory} ({names})"
    if not compressed:
        raise InputError("variant", "none", expected)
    keys = [store.study.key_of(name) for name in variants or compressed]
    for key in keys:
        require(key in compressed, "variant", key, expected)
    return keys


def _mean_bytes(data: StudyData, key: str, fact: str) -> tuple[float, float]:
    """Return the mean sizes of the members of the baseline and of a variant in bytes; NaN where unknown."""
    before, after = (float(data.means(side, [fact])[fact]) for side in (BASELINE, key))
    return before, after


def from_files(
    source: PredictionFiles,
    baseline: Sequence[str],
    compressed: Sequence[str],
    *,
    paired: bool,
    groups: GroupOptions | None = None,
    verbose: bool,
    steps: Steps | None = None,
) -> dict[str, GatedModel]:
    """Return populations from files, paired in their order; reads them and raises errors as `tfaudit audit` does."""
    from tfaudit.cli.sides import read_files

    steps = steps or Steps()
    steps.plan(1)
    steps.begin("Reading the files of predictions")
    reference, populations = read_files(source, baseline, compressed, verbose=verbose)
    named = (
        None
        if groups is None
        else groups.of(lambda path: read_groups(path, source), None, baseline[0])
    )
    return {
        name: GatedModel(reference, population, paired=paired, groups=named)
        for name, population in populations.items()
    }


def from_outcomes(
    source: OutcomeFiles,
    baseline: Sequence[str],
    compressed: Sequence[str],
    *,
    paired: bool = False,
    groups: GroupOptions | None = None,
    steps: Steps | None = None,
) -> dict[str, GatedModel]:
    """Return outcomes from files or folders of lm-evaluation-harness, paired in their order; may raise `InputError`.

    Groups are columns of the baseline's files unless they are in a table.
    """
    from tfaudit.cli.sides import files_of, variants_of
    from tfaudit.readers.outcome_files import read_sides

    steps = steps or Steps()
    steps.plan(1)
    steps.begin("Reading the outcomes")
    sides = read_sides(source, files_of(baseline, "baseline"), variants_of(compressed))
    named = None if groups is None else groups.of_outcomes(sides, baseline[0], source.id_name)
    return {
        name: GatedModel(sides.baseline, outcomes, paired=paired, notes=sides.notes, groups=named)
        for name, outcomes in sides.compressed.items()
    }


def from_models(
    baseline: Sequence[str],
    compressed: Sequence[str],
    data: str,
    options: ImageOptions,
    *,
    groups: GroupOptions | None = None,
    slices: bool = False,
    steps: Steps | None = None,
) -> dict[str, GatedModel]:
    """Return single models, with their predictions on data; raises the errors of `predict_models`."""
    from tfaudit.cli.model_predictions import predict_models, require_model_files

    if len(baseline) != 1:
        raise InputError("baseline", f"{len(baseline)} files", "one model")
    paths = [Path(word) for word in compressed]
    require_model_files(baseline=[Path(baseline[0])], compressed=paths)
    search = LIMITS.get("slice_drop_pp") if slices else None
    wanted = search is not None
    models = predict_models(Path(baseline[0]), paths, data, options, features=wanted, steps=steps)
    size = models.sizes["baseline"]
    first = models.baseline
    named = (
        None
        if groups is None
        else groups.of(by_id(first.example_ids, first.num_examples, data), None, data)
    )
    return {
        name: GatedModel(
            first,
            predictions,
            (size, models.sizes[name]),
            file=path,
            signature=options.signature,
            notes=models.notes,
            groups=named,
            slices=search and search(models.baseline, predictions, models.features),
        )
        for (name, predictions), path in zip(models.compressed.items(), paths, strict=True)
    }
