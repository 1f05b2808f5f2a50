"""What compression buys."""

from __future__ import annotations

import pandas as pd

from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.charts.costs import cost_chart
from tfaudit.report.sections.section import Figure, Section, Table, column

__all__ = ["costs_section"]

COUNTED = ("parameters", "zeros", "flops", "effective_flops", "bytes", "gzipped_bytes")


def costs_section(study_audit: StudyAudit) -> Section | None:
    """Parameters, zeros, operations and bytes, means over the members; latency where `tfaudit cost` measured it."""
    table = pd.DataFrame(
        {"variant": key, "title": title, **study_audit.data.means(key, COUNTED)}
        for key, title in study_audit.data.titles.items()
    )
    measured = study_audit.data.store.table("costs")
    if measured is not None:
        latency = [str(name) for name in measured if str(name).startswith("latency")]
        first = measured.set_index("variant").reindex(table["variant"]).reset_index(drop=True)
        table = table.fillna(first[list(COUNTED[:4])]).assign(**{name: first[name] for name in latency})
    elif table["flops"].isna().all():
        return None
    accuracy = study_audit.summary.table.set_index("variant")["top1"]
    table["accuracy"] = table["variant"].map(accuracy)
    timed = "latency_1_ms" in table and table["latency_1_ms"].notna().any()
    columns = [
        column(table, "title", "variant"),
        column(table, "accuracy", "top-1", ".2f", scale=100, meaning="mean accuracy, %"),
        column(table, "parameters", "parameters", ",.0f"),
        column(table, "zeros", "zeros", ",.0f", meaning="among the weights of kernels"),
        column(table, "flops", "Mflops", ",.4g", scale=1e-6, meaning="operations for one image"),
        column(
            table, "effective_flops", "effective", ",.4g", scale=1e-6, meaning="without those that a zero makes idle"
        ),
        column(table, "bytes", "kB", ",.4g", scale=1e-3, meaning="of the file"),
        column(table, "gzipped_bytes", "gzipped", ",.4g", scale=1e-3),
    ]
    if timed:
        columns += [
            column(table, "latency_1_ms", "ms", ".3g", meaning="median latency of one image, one thread, this machine"),
            column(table, "latency_1_ratio", "of dense", ".2f", meaning="median ratio, measured in turns"),
            column(table, "latency_32_ms", "ms, 32", ".3g", meaning="of 32 images"),
        ]
    return Section(
        "costs",
        "What compression buys",
        "The other side of every trade-off: weights, operations, bytes and, where it was measured, the time that "
        "TensorFlow Lite takes on this machine.",
        "[F] A",
        (Figure("costs", cost_chart(table), "Latency with quartiles, and accuracy, of every variant."),)
        if timed
        else (),
        (Table("Costs", tuple(columns)),),
        () if timed else (f"Latency was not measured; `tfaudit cost {study_audit.data.store.directory.name}` does.",),
    )
