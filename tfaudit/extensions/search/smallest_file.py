"""Result of a search: the smallest file that passes, or why nothing passes."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from tfaudit.audits.gate.checks import PASS
from tfaudit.audits.gate.gate import Verdict
from tfaudit.audits.gate.limits import FILE_LIMITS, Limits, quantity_of
from tfaudit.audits.gate.measurements import Measurements
from tfaudit.audits.result import Result
from tfaudit.audits.verdict.study_verdict import CHANGES, WORST_CHANGE
from tfaudit.outlets.gate_files import json_verdicts
from tfaudit.runtime.names import class_in_words
from tfaudit.runtime.seals import seal

if TYPE_CHECKING:
    from tfaudit.charts.style import Drawing

NO_FILE, NOT_TRIED = "no file", "not tried"
"""Further outcomes of candidates: TensorFlow Lite makes no file that runs; the search did not try it."""

COLUMNS = (
    "candidate",
    "title",
    "outcome",
    "judged",
    "judged_examples",
    "chosen",
    "bytes",
    "size_ratio",
    "latency_1_ms",
    *CHANGES,
    *WORST_CHANGE,
    "reason",
)


@dataclasses.dataclass(frozen=True)
class SmallestFile(Result):
    """Result of `compress_to_limits`.

    Attributes:
        table: one row per candidate, with the columns of `frame`.
        chosen: key of the candidate that the verdict is on: the smallest that passes of those in `judged`, or else the
            closest to passing.
        title: readable name of the chosen candidate.
        content: bytes of its flatbuffer.
        verdict: verdict of the gate on the examples that `judged_on` names.
        limits: limits that the gate checked.
        needed: sentences on which limit binds, by how much, and what would be needed; none if the verdict is a pass.
        judged: outcomes by key in the order of judging: of plain files, then of those that pass on the selection part,
            each from the largest down to the first that does not pass.
        judged_on: which examples judged the chosen candidate, in words, with their number.
        examples: numbers of examples in the selection part, and of those that judged the chosen candidate.
        stopped: why the search ended early; empty if it did not.
        notes: caveats for the reader, one sentence each.
        directory: directory of the files; None if they were not kept.
    """

    table: pd.DataFrame
    chosen: str
    title: str
    content: bytes
    verdict: Verdict
    limits: Limits
    needed: tuple[str, ...]
    judged: Mapping[str, str]
    judged_on: str
    examples: tuple[int, int]
    stopped: str
    notes: tuple[str, ...]
    directory: Path | None

    @property
    def outcome(self) -> str:
        """Return the outcome of the verdict: "pass", "fail" or "cannot judge"."""
        return self.verdict.outcome

    @property
    def exit_code(self) -> int:
        """Return the exit code of `tfaudit compress`, as for `tfaudit gate`: 0 pass, 1 fail, 2 cannot judge."""
        return self.verdict.exit_code

    @property
    def path(self) -> Path | None:
        """Return the path of the file that may ship; None unless it passed and was kept."""
        return self.directory / "model.tflite" if self.directory and self.outcome == PASS else None

    def frame(self) -> pd.DataFrame:
        """Return one row per candidate, the smallest first, as measured on the selection part.

        Columns: `candidate` (key), `title`, `outcome` ("pass", "fail", "cannot judge", "no file" or "not tried"),
        `judged` (outcome of the verdict, empty if it was not judged) and `judged_examples` (how many judged it),
        `chosen`, `bytes`, `size_ratio` (to the model's file), `latency_1_ms` (one image on this machine: of the chosen
        file, or of all that were tested if it is limited), `top1` (a share), its change `change_pp` with
        `change_low_pp` and `change_high_pp`; `worst_class` with `worst_before` and `worst_after` (recalls, shares) and
        their change `worst_change_pp`, `worst_low_pp`, `worst_high_pp`; `reason`.
        Unknown values are NaN, unknown classes None.
        """
        return self.table.copy()

    def summary(self) -> dict[str, Any]:
        """Return the outcome, the chosen candidate and its size, and the numbers of candidates and examples."""
        return {
            "outcome": self.outcome,
            "chosen": self.chosen,
            "bytes": len(self.content),
            **self._counts,
            "needed": list(self.needed),
        }

    @property
    def _counts(self) -> dict[str, Any]:
        return {
            "candidates": len(self.table),
            "tried": int((self.table["outcome"] != NOT_TRIED).sum()),
            "selection_examples": self.examples[0],
            "judged_examples": self.examples[1],
            "judged_on": self.judged_on,
        }

    def chart(self) -> Drawing:
        """Draw the size of every candidate that was tried against the change in its worst class."""
        from tfaudit.extensions.search.chart import candidates_chart

        return candidates_chart(self.table, self.limits.worst_class_drop_pp)

    def to_json(self, seed: int, held_out: float) -> bytes:
        """Return the content of `verdict.json`: the content of `tfaudit gate --json`, and facts about the search.

        Args:
            seed: seed of the split.
            held_out: share of the examples in the held-out part.
        """
        content = json.loads(json_verdicts({self.title: self.verdict}))
        content["file"] = {
            "candidate": self.chosen,
            "bytes": len(self.content),
            "sha256": seal(self.content),
            "may_ship": self.outcome == PASS,
        }
        content["search"] = {
            **self._counts,
            "held_out": held_out,
            "seed": seed,
            "judged": dict(self.judged),
            "stopped": self.stopped,
        }
        content["needed"] = list(self.needed)
        return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False).encode()


def shortfall(
    verdict: Verdict,
    measured: Measurements,
    on_selection: Mapping[str, Verdict],
    table: pd.DataFrame,
) -> tuple[str, ...]:
    """Return sentences on every limit that the chosen candidate does not keep to.

    Args:
        verdict: verdict on the chosen candidate, on the examples that judge it.
        measured: measurements that this verdict judges.
        on_selection: verdicts on the selection part, by key of the candidate.
        table: table of the candidates, with `candidate`, `title` and `bytes`.
    """
    if verdict.doubts:
        return tuple(doubt.sentence for doubt in verdict.doubts)
    failing = verdict.frame()
    failing = failing[failing["outcome"] != PASS]
    sentences = [_binding(row) for row in failing.to_dict("records")]
    names = set(failing["check"])
    if names & {"overall_drop_pp", "worst_class_drop_pp"}:
        sentences += _images(failing, measured)
    if names & set(FILE_LIMITS):
        sentences += _size(on_selection, table)
    return tuple(sentences)


def _binding(row: dict) -> str:
    quantity = quantity_of(row["check"])
    subject = row["subject"]
    of_class = f" ({class_in_words(subject)})" if subject else ""
    title = f"{quantity.title[0].upper()}{quantity.title[1:]}{of_class}"
    text = (
        "{:,.0f} bytes".format if row["check"] == "size_bytes" else quantity.text
    )  # megabytes are too coarse
    allowed = text(row["limit"])
    worst = row["high"] if math.isfinite(row["high"]) else row["value"]
    if not math.isfinite(worst):
        return f"{title} is unknown."
    if worst < row["limit"]:  # a collapse, whatever the share of classes
        return str(row["reason"])
    measured = text(row["value"])
    if math.isfinite(row["high"]):
        measured += f", and up to {text(row['high'])} by its interval,"
    over = text(worst - row["limit"])
    return f"{title}: {measured} where {allowed} is allowed; that is {over} too much."


def _images(failing: pd.DataFrame, measured: Measurements) -> list[str]:
    """Say how many judging images of each class would let all classes pass if compression did no harm."""
    limits = failing.loc[failing["check"] == "worst_class_drop_pp", "limit"]
    if limits.empty or not limits.iloc[0]:
        return []
    needed = measured.images_for_every_class(float(limits.iloc[0]))
    fewest = int(measured.classes.examples.min())
    most = int(measured.classes.examples.max())
    if not needed or needed <= fewest:
        return []
    present = f"{fewest:,}" if fewest == most else f"{fewest:,} to {most:,}"
    return [
        f"Without any harm all classes pass this limit in 4 of 5 searches if about {needed:,} examples of each class "
        f"judge; here {present} do."
    ]


def _size(on_selection: Mapping[str, Verdict], table: pd.DataFrame) -> list[str]:
    """Say which is the smallest candidate that keeps to all limits except limits on size."""
    kept = [
        key
        for key, verdict in on_selection.items()
        if all(check.outcome == PASS for check in verdict.checks if check.name not in FILE_LIMITS)
    ]
    rows = table[table["candidate"].isin(kept)].sort_values("bytes", kind="stable")
    if rows.empty:
        return ["No candidate keeps to the other limits, whatever its size."]
    first = rows.iloc[0]
    return [
        f"The smallest candidate that keeps to the other limits is {first['title']}: {int(first['bytes']):,} bytes."
    ]
