"""The benchmark of compression harm: what a compressor costs a model, one entry for each pair of the two."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import tfaudit
from tfaudit.audits.classes.classes import worst_class
from tfaudit.audits.divergence.divergence import divergence
from tfaudit.audits.gate.gate import judge
from tfaudit.audits.gate.limits import DEFAULT_LIMITS
from tfaudit.audits.gate.measurements import Corrupted, Losses, Measurements, measure
from tfaudit.errors import InputError, require
from tfaudit.predictions import Predictions
from tfaudit.stats.multiplicity import adjust

FORMAT = 1
"""Version of the JSON format; a change that older readers would misread increments it."""

KEY = ["model", "data", "compressor"]
"""Columns that tell entries apart."""

NUMBERS = (
    "examples",
    "classes",
    "members",
    "size_share",
    "accuracy",
    *("accuracy_pp", "accuracy_low_pp", "accuracy_high_pp"),
    *("worst_class_pp", "worst_class_low_pp", "worst_class_high_pp"),
    "harmed_classes",
    *("negative_flips", "negative_flips_low", "negative_flips_high"),
    "ties",
    *("shift", "shift_low", "shift_high"),
    *("corruption_pp", "corruption_low_pp", "corruption_high_pp"),
)
TEXTS = (
    *KEY,
    "size_is",
    "worst_class",
    "worst_corruption",
    "outcome",
    "reason",
    "command",
    "version",
)

UNKNOWN = (float("nan"), float("nan"), float("nan"))


def entry(
    baseline: Predictions,
    compressed: Predictions,
    names: tuple[str, str, str],
    *,
    command: str = "",
    size_share: float = float("nan"),
    size_is: str = "gzipped",
    paired: bool | None = None,
    corrupted: Corrupted | None = None,
) -> dict[str, Any]:
    """Measure what a compressor costs a model; the columns are those of `HarmBenchmark.table`.

    Args:
        baseline: predictions of the uncompressed model or population.
        compressed: predictions of the compressed one, on the same examples.
        names: the model, the data and the compressor.
        command: what makes the entry again.
        size_share: bytes of the compressed file, as a share of the uncompressed model's; NaN if unknown.
        size_is: which bytes these are, "gzipped" or "on disk".
        paired: as for `tfaudit.gate`.
        corrupted: predictions of both under corruption, as for `tfaudit.gate`.

    Raises:
        InputError: different examples, or one model against a population.
    """
    measured = measure(baseline, compressed, paired=paired)
    if corrupted:
        measured = measured.with_corruptions(corrupted, paired=paired)
    verdict = judge(measured, DEFAULT_LIMITS)
    classes, ties, flips = measured.classes, measured.ties, measured.negative_flips
    harmed = (adjust(classes.p, "holm") <= measured.alpha) & (classes.loss > 0)
    return {
        **dict(zip(KEY, names, strict=True)),
        "command": command,
        "version": tfaudit.__version__,
        "examples": baseline.num_examples,
        "classes": baseline.num_classes,
        "members": compressed.num_members,
        "size_share": size_share,
        "size_is": size_is,
        "accuracy": float(measured.overall.before[0]),
        **_change("accuracy", measured.overall, 0),
        **_of_worst_class(measured),
        "harmed_classes": int(harmed.sum()),
        **_figures("negative_flips", (flips.value, flips.low, flips.high)),
        "ties": ties.tied_after / ties.examples,
        **_figures("shift", _shift(baseline, compressed, paired) if measured.pairs else UNKNOWN),
        **_of_worst_corruption(measured.corruptions),
        "outcome": verdict.outcome,
        "reason": verdict.gravest.reason,
    }


def _figures(name: str, values: Iterable[float], unit: str = "") -> dict[str, float]:
    """Return a figure and the ends of its interval as columns."""
    ends = (f"{name}{end}{unit}" for end in ("", "_low", "_high"))
    return dict(zip(ends, map(float, values), strict=True))


def _change(name: str, losses: Losses, row: int) -> dict[str, float]:
    """Return the change of an accuracy or recall: the loss with the opposite sign."""
    ends = losses.loss[row], losses.high[row], losses.low[row]
    return _figures(name, (0 - end for end in ends), "_pp")


def _of_worst_class(measured: Measurements) -> dict[str, Any]:
    """Return the class that a verdict names first, and its change."""
    losses = measured.classes
    row = worst_class(pd.DataFrame({"collapsed": measured.collapsed, "change_pp": 0 - losses.loss}))
    if row is None:
        return {"worst_class": "", **_figures("worst_class", UNKNOWN, "_pp")}
    return {"worst_class": losses.names[row], **_change("worst_class", losses, row)}


def _of_worst_corruption(losses: Losses | None) -> dict[str, Any]:
    if losses is None:
        return {"worst_corruption": "", **_figures("corruption", UNKNOWN, "_pp")}
    row = int(np.argmax(losses.loss))
    return {"worst_corruption": losses.names[row], **_change("corruption", losses, row)}


def _shift(
    baseline: Predictions, compressed: Predictions, paired: bool | None
) -> tuple[float, float, float]:
    """Return the shift of probabilities over all images with its interval, unknown without probabilities."""
    if not (baseline.has_probabilities and compressed.has_probabilities):
        return UNKNOWN
    row = divergence(baseline, compressed, paired=paired).frame().iloc[0]
    return row["shift"], row["shift_low"], row["shift_high"]


@dataclasses.dataclass(frozen=True)
class HarmBenchmark:
    """Entries of the benchmark, of any origin.

    Attributes:
        table: a row per entry. Changes are percentage points, losses negative; a figure has the ends of its interval
            at level .95 beside it, such as `accuracy_low_pp` and `accuracy_high_pp`. Columns: `model`, `data`,
            `compressor`; `examples`, `classes`, and `members`, the number of compressed models; `size_share`, bytes of
            the file as a share of the uncompressed model's, and `size_is`, "gzipped" or "on disk"; `accuracy` of the
            uncompressed model, a share, and its change `accuracy_pp`; `worst_class` and the change of its recall
            `worst_class_pp`, with the interval of this class alone although it was chosen after the fact;
            `harmed_classes`, which lost recall after Holm's correction over the classes; `negative_flips`, the share of
            predictions that turn from right to wrong; `ties`, the share of the compressed predictions in which classes
            tie; `shift`, the mean square root of the divergence of the probabilities
            (`tfaudit.audits.divergence`), NaN if models are not made from each other;
            `worst_corruption` and the change of accuracy against the uncompressed model under the same corruption,
            `corruption_pp`; `outcome` and `reason` of a gate with the default limits; `command`, which makes the entry
            again; `version` of tfaudit.
    """

    table: pd.DataFrame

    @classmethod
    def read(cls, path: Path) -> HarmBenchmark:
        """Read a JSON file; one that does not exist has no entries.

        Raises:
            InputError: no such file of this format.
        """
        if not path.exists():
            return cls(pd.DataFrame(columns=[*TEXTS, *NUMBERS]))
        expected = f"a JSON file of the benchmark's format {FORMAT}"
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            known, rows = content["format"] == FORMAT, pd.DataFrame(content["entries"])
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(str(path), f"no readable entries ({error})", expected) from None
        require(known, str(path), f"format {content['format']}", expected)
        lacking = {*TEXTS, *NUMBERS} - {*rows} if len(rows) else ()
        require(not lacking, str(path), f"entries without {', '.join(sorted(lacking))}", expected)
        try:
            return cls(rows.astype(dict.fromkeys(NUMBERS, float)).astype(dict.fromkeys(TEXTS, str)))
        except (ValueError, TypeError) as error:
            raise InputError(str(path), str(error), "numbers in the entries") from None

    def with_entries(self, entries: Iterable[dict[str, Any]]) -> HarmBenchmark:
        """Return the benchmark with further entries, which take the place of earlier ones of the same names."""
        rows = pd.DataFrame([*self.table.to_dict("records"), *entries])
        return HarmBenchmark(rows.drop_duplicates(KEY, keep="last", ignore_index=True))

    def json(self) -> bytes:
        """Return the entries as UTF-8 JSON, with null instead of NaN and six significant digits."""
        rows = [
            {name: _json_value(value) for name, value in row.items()}
            for row in self.table.to_dict("records")
        ]
        content = {"format": FORMAT, "entries": rows}
        return (json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode()

    def by_compressor(self) -> pd.DataFrame:
        """Return a row per compressor, by size: medians over the models, and in how many it passes and harms a class.

        Columns: `compressor`, `models`, `size_share`, `accuracy_pp`, `worst_class_pp`, `negative_flips`, `shift`,
        `harming` (models of which it harms a class) and `passes`.
        """
        table = self.table.assign(
            harming=self.table["harmed_classes"] > 0, passes=self.table["outcome"] == "pass"
        )
        medians = ["size_share", "accuracy_pp", "worst_class_pp", "negative_flips", "shift"]
        groups = table.groupby("compressor")
        rows = groups[medians].median().join(groups[["harming", "passes"]].sum())
        rows.insert(0, "models", groups.size())
        return rows.sort_values("size_share").reset_index()


def _json_value(value: Any) -> Any:
    if not isinstance(value, float):
        return value
    return None if np.isnan(value) else float(f"{value:.6g}")
