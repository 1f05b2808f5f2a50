"""Size and speed: weights, operations, bytes, latency; by hand: they are counted and timed, no result of an audit."""

import pandas as pd

from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.charts.renderer import can_draw
from tfaudit.errors import InputError, listed
from tfaudit.outlets.columns import column
from tfaudit.outlets.grid import Grid
from tfaudit.outlets.sections.section import Figure, Section

OPERATIONS = ("parameters", "zeros", "flops", "effective_flops")
BYTES = ("bytes", "gzipped_bytes")
LATENCIES = ("latency_1_ms", "latency_1_ratio", "latency_32_ms")

UNKNOWN = "Operations are unknown where a part of them, such as the loop of a recurrent layer, cannot be counted."


def costs_section(study_audit: StudyAudit) -> Section | None:
    """Return means over the members, and latency if `tfaudit cost` measured it; None if nothing was counted.

    Raises:
        InputError: a file of costs that cannot be read.
    """
    data = study_audit.data
    table = pd.DataFrame(
        {"variant": key, "title": title, **data.means(key, OPERATIONS + BYTES)}
        for key, title in data.titles.items()
    )
    measured = _measured(study_audit, list(table["variant"]))
    if measured is None and table["parameters"].isna().all():
        return None
    if measured is not None:
        counted = [name for name in OPERATIONS if name in measured]
        latencies = [str(name) for name in measured if str(name).startswith("latency")]
        table = table.fillna(measured[counted]).assign(**measured[latencies])
    table["accuracy"] = table["variant"].map(study_audit.summary.table.set_index("variant")["top1"])
    timed = "latency_1_ms" in table and bool(table["latency_1_ms"].notna().any())
    figures = _figures(table) if timed and can_draw() else ()
    names = (
        "title",
        "accuracy",
        *OPERATIONS,
        *BYTES,
        *(name for name in LATENCIES if timed and name in table),
    )
    again = f"tfaudit cost {data.store.directory.name}"
    notes = () if timed else (f"Latency was not measured; “{again}” measures it.",)
    return Section(
        "costs",
        "Size and speed",
        "How much does compression save?",
        "[F] A",
        figures,
        (Grid.of("Every variant", table, names, "costs"),),
        (*notes, *_notes_on_operations(table, measured, again), *_notes_on_models(table, measured)),
        method="Weights, operations, bytes and, if measured, latency of TensorFlow Lite on this machine.",
    )


def _notes_on_operations(
    table: pd.DataFrame, measured: pd.DataFrame | None, again: str
) -> list[str]:
    """Return a note if the measured costs lack a column, or if operations are unknown."""
    known = OPERATIONS if measured is None else measured
    unknown = [name for name in OPERATIONS if table[name].isna().all() and name not in known]
    if unknown:
        missing = listed([column(name).heading for name in unknown])
        return [f"The file of costs has no {missing}; “{again}” writes it again."]
    return [UNKNOWN] if table["flops"].isna().any() else []


def _notes_on_models(table: pd.DataFrame, measured: pd.DataFrame | None) -> list[str]:
    """Return the notes that `tfaudit cost` took on the models."""
    if measured is None or "notes" not in measured:
        return []
    told = zip(table["title"], measured["notes"], strict=True)
    return [f"{title}: {note}." for title, note in told if isinstance(note, str) and note]


def _figures(table: pd.DataFrame) -> tuple[Figure, ...]:
    from tfaudit.compress.cost_chart import cost_chart

    description = "Latency with quartiles, and accuracy, of every variant."
    return (Figure("costs", cost_chart(table), description),)


def _measured(study_audit: StudyAudit, variants: list[str]) -> pd.DataFrame | None:
    """Return the table that `tfaudit cost` wrote, one row per variant, or None if there is no such table."""
    store = study_audit.data.store
    table = store.table("costs")
    if table is None:
        return None
    figures = table.drop(columns=["variant", "notes"], errors="ignore")
    known = "variant" in table and table["variant"].is_unique
    if not known or len(figures.columns) > len(figures.select_dtypes("number").columns):
        got = f"a file that is no table of costs, {store.directory / 'costs.parquet'}"
        raise InputError("costs", got, f"the table that `tfaudit cost {store.directory}` writes")
    return table.set_index("variant").reindex(variants).reset_index(drop=True)
