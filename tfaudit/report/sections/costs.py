"""Costs: weights, operations, bytes, latency."""

import pandas as pd

from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.charts.costs import cost_chart
from tfaudit.report.sections.section import Figure, ReportTable, Section

OPERATIONS = ("parameters", "zeros", "flops", "effective_flops")
BYTES = ("bytes", "gzipped_bytes")
LATENCIES = ("latency_1_ms", "latency_1_ratio", "latency_32_ms")


def costs_section(study_audit: StudyAudit) -> Section | None:
    """Return means over the members, and latency where `tfaudit cost` measured it; None where nothing was counted."""
    data = study_audit.data
    table = pd.DataFrame(
        {"variant": key, "title": title, **data.means(key, OPERATIONS + BYTES)} for key, title in data.titles.items()
    )
    measured = data.store.table("costs")
    if measured is not None:
        latencies = [str(name) for name in measured if str(name).startswith("latency")]
        by_variant = measured.set_index("variant").reindex(table["variant"]).reset_index(drop=True)
        table = table.fillna(by_variant[list(OPERATIONS)]).assign(**{name: by_variant[name] for name in latencies})
    elif table["flops"].isna().all():
        return None
    table["accuracy"] = table["variant"].map(study_audit.summary.table.set_index("variant")["top1"])
    timed = "latency_1_ms" in table and bool(table["latency_1_ms"].notna().any())
    description = "Latency with quartiles, and accuracy, of every variant."
    figures = (Figure("costs", cost_chart(table), description),) if timed else ()
    names = ("title", "accuracy", *OPERATIONS, *BYTES, *LATENCIES * timed)
    return Section(
        "costs",
        "Costs",
        "What does compression save in weights, operations, bytes and, where it was measured, latency of TensorFlow "
        "Lite on this machine?",
        "[F] A",
        figures,
        (ReportTable.of("Costs", table, names, "costs"),),
        () if timed else (f"Latency was not measured; `tfaudit cost {data.store.directory.name}` measures it.",),
    )
