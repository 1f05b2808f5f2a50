"""Size and speed of the variants: weights, operations, bytes and latency, counted in training or by `tfaudit cost`."""

import dataclasses
from typing import Any

import pandas as pd

from tfaudit.analysis.joint_audits import JointAudit
from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.audits.declaration import Chart, Declaration, Table
from tfaudit.audits.gate.limits import Limits
from tfaudit.audits.result import Drawing, Result
from tfaudit.errors import InputError, listed
from tfaudit.store.store import Store

OPERATIONS = ("parameters", "zeros", "flops", "effective_flops")
BYTES = ("bytes", "gzipped_bytes")
LATENCIES = ("latency_1_ms", "latency_1_ratio", "latency_32_ms")

UNKNOWN = "Operations are unknown where a part of them, such as the loop of a recurrent layer, cannot be counted."


@dataclasses.dataclass(frozen=True)
class Costs(Result):
    """Means over the members, a row per variant in `table`, and latency if `tfaudit cost` measured it."""

    table: pd.DataFrame
    notes: tuple[str, ...]

    @property
    def timed(self) -> bool:
        """Whether the latency of a variant is known."""
        return "latency_1_ms" in self.table and bool(self.table["latency_1_ms"].notna().any())

    def frame(self) -> pd.DataFrame:
        """Return the table."""
        return self.table

    def summary(self) -> dict[str, Any]:
        """Return whether the latency of a variant is known."""
        return {"timed": self.timed}

    def chart(self) -> Drawing:
        """Draw latency with quartiles, and accuracy, of every variant."""
        from tfaudit.extensions.costs.chart import cost_chart

        return cost_chart(self.table)


def study_costs(study_audit: StudyAudit, limits: Limits) -> Costs | None:
    """Return what every variant costs; None if nothing was counted.

    Raises:
        InputError: a file of costs that cannot be read.
    """
    data = study_audit.data
    table = pd.DataFrame(
        {"variant": key, "title": title, **data.means(key, OPERATIONS + BYTES)}
        for key, title in data.titles.items()
    )
    measured = _measured(data.store, list(table["variant"]))
    if measured is None and table["parameters"].isna().all():
        return None
    if measured is not None:
        counted = [name for name in OPERATIONS if name in measured]
        latencies = [str(name) for name in measured if str(name).startswith("latency")]
        table = table.fillna(measured[counted]).assign(**measured[latencies])
    table["accuracy"] = table["variant"].map(study_audit.summary.table.set_index("variant")["top1"])
    again = f"tfaudit cost {data.store.directory.name}"
    of_operations = _notes_on_operations(table, measured, again)
    costs = Costs(table, (*of_operations, *_notes_on_models(table, measured)))
    if costs.timed:
        return costs
    return Costs(table, (f"Latency was not measured; “{again}” measures it.", *costs.notes))


def _notes_on_operations(
    table: pd.DataFrame, measured: pd.DataFrame | None, again: str
) -> list[str]:
    """Return a note if the measured costs lack a column, or if operations are unknown."""
    known = OPERATIONS if measured is None else measured
    unknown = [name for name in OPERATIONS if table[name].isna().all() and name not in known]
    if unknown:
        missing = listed([name.replace("_", " ").replace("flops", "Mflops") for name in unknown])
        return [f"The file of costs has no {missing}; “{again}” writes it again."]
    return [UNKNOWN] if table["flops"].isna().any() else []


def _notes_on_models(table: pd.DataFrame, measured: pd.DataFrame | None) -> list[str]:
    """Return the notes that `tfaudit cost` took on the models."""
    if measured is None or "notes" not in measured:
        return []
    notes = zip(table["title"], measured["notes"], strict=True)
    return [f"{title}: {note}." for title, note in notes if isinstance(note, str) and note]


def _measured(store: Store, variants: list[str]) -> pd.DataFrame | None:
    """Return the table that `tfaudit cost` wrote, one row per variant, or None if there is no such table."""
    table = store.table("costs")
    if table is None:
        return None
    figures = table.drop(columns=["variant", "notes"], errors="ignore")
    known = "variant" in table and table["variant"].is_unique
    if not known or len(figures.columns) > len(figures.select_dtypes("number").columns):
        got = f"a file that is no table of costs, {store.directory / 'costs.parquet'}"
        raise InputError("costs", got, f"the table that `tfaudit cost {store.directory}` writes")
    return table.set_index("variant").reindex(variants).reset_index(drop=True)


COSTS = JointAudit(
    compute=study_costs,
    shown=Declaration(
        name="costs",
        title="Size and speed",
        part="In use",
        question="How much does compression save?",
        method="Weights, operations, bytes and, if measured, latency of TensorFlow Lite on this machine.",
        source="[F] A",
        charts=(
            Chart(
                description="Latency with quartiles, and accuracy, of every variant.",
                shown=lambda result: result.timed,
            ),
        ),
        tables={
            "costs": Table(
                title="Every variant",
                columns=("title", "accuracy", *OPERATIONS, *BYTES, *LATENCIES),
                catalogue="costs",
            ),
        },
    ),
)
