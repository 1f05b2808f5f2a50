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
from tfaudit.audits.gate.measurements import Corrupted, Losses, measure
from tfaudit.audits.result import without_nan
from tfaudit.audits.verdict.study_verdict import GZIPPED, study_verdict
from tfaudit.errors import InputError, require
from tfaudit.extensions.divergence.divergence import divergence
from tfaudit.predictions import Predictions

FORMAT = 1
"""Version of the JSON format; a change that older readers would misread increments it."""

KEY = ["model", "data", "compressor"]
"""Columns that tell entries apart."""


def with_ends(name: str) -> tuple[str, str, str]:
    """Return the columns of a figure and of the two ends of its interval.

    Example:
        >>> with_ends("accuracy_pp"), with_ends("shift")
        (('accuracy_pp', 'accuracy_low_pp', 'accuracy_high_pp'), ('shift', 'shift_low', 'shift_high'))
    """
    stem = name.removesuffix("_pp")
    unit = name.removeprefix(stem)
    return name, f"{stem}_low{unit}", f"{stem}_high{unit}"


ESTIMATES = ("accuracy_pp", "worst_class_pp", "negative_flips", "shift", "corruption_pp")
"""Columns of figures that have an interval."""

COUNTS = ("examples", "classes", "members", "harmed_classes")
NUMBERS = (
    *("size_share", "accuracy", "ties"),
    *(column for name in ESTIMATES for column in with_ends(name)),
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

TYPES: dict[str, type] = {
    **dict.fromkeys(TEXTS, str),
    **dict.fromkeys(COUNTS, int),
    **dict.fromkeys(NUMBERS, float),
}
"""Columns of an entry by name."""

UNKNOWN = (float("nan"), float("nan"), float("nan"))

WIDEST = 50
"""Widest interval, in points, of a worst class that is compared: that of one image per class tells nothing."""


def entry(
    baseline: Predictions,
    compressed: Predictions,
    names: tuple[str, str, str],
    *,
    command: str = "",
    size_share: float = float("nan"),
    size_is: str = GZIPPED,
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
    judged = study_verdict({names[-1]: measured}).frame().iloc[0]
    ties, flips = measured.ties, measured.negative_flips
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
        **_figures("accuracy_pp", judged[[*with_ends("change_pp")]]),
        "worst_class": judged["worst_class"] or "",
        **_figures("worst_class_pp", judged[["worst_change_pp", "worst_low_pp", "worst_high_pp"]]),
        "harmed_classes": int(judged["lost"]),
        **_figures("negative_flips", (flips.value, flips.low, flips.high)),
        "ties": ties.tied_after / ties.examples,
        **_figures("shift", _shift(baseline, compressed, paired) if measured.pairs else UNKNOWN),
        **_of_worst_corruption(measured.corruptions),
        "outcome": judged["outcome"],
        "reason": judged["reason"],
    }


def _figures(name: str, values: Iterable[float]) -> dict[str, float]:
    """Return a figure and the ends of its interval as columns."""
    return dict(zip(with_ends(name), map(float, values), strict=True))


def _of_worst_corruption(losses: Losses | None) -> dict[str, Any]:
    """Return the corruption that costs most, and its change: the loss with the opposite sign."""
    if losses is None:
        return {"worst_corruption": "", **_figures("corruption_pp", UNKNOWN)}
    row = int(np.argmax(losses.loss))
    change = (0 - end[row] for end in (losses.loss, losses.high, losses.low))
    return {"worst_corruption": losses.names[row], **_figures("corruption_pp", change)}


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
        table: a row per entry. Changes are percentage points, losses negative; an estimate has the ends of its interval
            in two more columns, such as `accuracy_low_pp` and `accuracy_high_pp`, at level .95. Columns: `model`,
            `data`, `compressor`; `examples`, `classes`, and `members`, the number of compressed models; `size_share`,
            bytes of the file as a share of the uncompressed model's, and `size_is`, "gzipped" or "on disk"; `accuracy`
            of the uncompressed model, a share, and its change `accuracy_pp`; `worst_class` and the change of its recall
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
            return cls(pd.DataFrame(columns=list(TYPES)))
        expected = f"a JSON file of the benchmark's format {FORMAT}"
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            known, rows = content["format"] == FORMAT, pd.DataFrame(content["entries"])
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(str(path), f"no readable entries ({error})", expected) from None
        require(known, str(path), f"format {content['format']}", expected)
        lacking = {*TYPES} - {*rows} if len(rows) else ()
        require(not lacking, str(path), f"entries without {', '.join(sorted(lacking))}", expected)
        try:
            return cls(rows.astype(TYPES if len(rows) else {}))
        except (ValueError, TypeError) as error:
            raise InputError(str(path), str(error), "numbers in the entries") from None

    def with_entries(self, entries: Iterable[dict[str, Any]]) -> HarmBenchmark:
        """Return the benchmark with further entries, which take the place of earlier ones of the same names."""
        rows = pd.DataFrame([*self.table.to_dict("records"), *entries])
        return HarmBenchmark(rows.drop_duplicates(KEY, keep="last", ignore_index=True))

    def json(self) -> bytes:
        """Return the entries as UTF-8 JSON, with null instead of NaN and six significant digits."""
        rounded = self.table.assign(
            **{name: [float(f"{value:.6g}") for value in self.table[name]] for name in NUMBERS}
        )
        rows = [without_nan(row) for row in rounded.to_dict("records")]
        content = {"format": FORMAT, "entries": rows}
        return (json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode()

    def comparable_worst_class(self) -> pd.Series:
        """Return `worst_class_pp` by entry, NaN where its interval is wider than `WIDEST`."""
        width = self.table["worst_class_high_pp"] - self.table["worst_class_low_pp"]
        return self.table["worst_class_pp"].where(width <= WIDEST)

    def by_compressor(self) -> pd.DataFrame:
        """Return a row per compressor, by size: medians over the models, and in how many it passes and harms a class.

        A worst class whose interval is wider than `WIDEST` counts in no median.

        Columns: `compressor`, `models`, `size_share`, `accuracy_pp`, `worst_class_pp`, `negative_flips`, `shift`,
        `harming` (models of which it harms a class) and `passes`.
        """
        table = self.table.assign(
            worst_class_pp=self.comparable_worst_class(),
            harming=self.table["harmed_classes"] > 0,
            passes=self.table["outcome"] == "pass",
        )
        medians = ["size_share", "accuracy_pp", "worst_class_pp", "negative_flips", "shift"]
        groups = table.groupby("compressor")
        rows = groups[medians].median().join(groups[["harming", "passes"]].sum())
        rows.insert(0, "models", groups.size())
        return rows.sort_values("size_share").reset_index()
