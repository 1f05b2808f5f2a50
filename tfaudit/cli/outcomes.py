"""What changes in outcomes: printed, and written as a page and as tables."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tfaudit.cli.console import out

if TYPE_CHECKING:
    from tfaudit.audits.gate.limits import Limits
    from tfaudit.cli.gate_sources import GroupTable
    from tfaudit.cli.options import OutcomeOptions
    from tfaudit.readers.outcome_files import OutcomeFiles


def audit_outcomes(
    source: OutcomeFiles,
    baseline: Sequence[str],
    compressed: Sequence[str],
    options: OutcomeOptions,
    *,
    groups: GroupTable,
    limits: Limits,
    paired: bool = False,
    alpha: float = 0.05,
    permutations: int = 1000,
    directory: Path | None = None,
) -> None:
    """Print the verdict and what changes, and write `report.html`, `groups.csv` and `examples.csv` into a directory.

    Args:
        source: how the files are read.
        baseline: files of the uncompressed models, or folders of lm-evaluation-harness.
        compressed: those of the compressed ones, or NAME=FILES.
        options: the margin.
        groups: which columns are groups.
        limits: limits of the gate.
        paired: whether compressed members are made from the baseline's.
        alpha: level of the tests.
        permutations: reassignments of members.
        directory: where to write; None for nowhere.

    Raises:
        InputError: as `read_sides` and `compare_outcomes`.
    """
    import pandas as pd

    from tfaudit.analysis.outcome_changes import compare_outcomes
    from tfaudit.audits.gate.gate import judge
    from tfaudit.audits.gate.limits import OF_OUTCOMES
    from tfaudit.cli.sides import files_of, variants_of
    from tfaudit.outlets.csv_files import csv_bytes
    from tfaudit.outlets.gate_tables import verdict_table
    from tfaudit.outlets.outcome_pages import outcome_tables, write_outcomes
    from tfaudit.readers.outcome_files import read_sides
    from tfaudit.store.requested_files import write_requested

    limits.require_only(OF_OUTCOMES, "outcomes")
    sides = read_sides(source, files_of(baseline, "baseline"), variants_of(compressed))
    first = sides.baseline
    read = groups.by_id(first.example_ids, first.num_examples, baseline[0])
    own = sides.groups if len(sides.groups.columns) else None
    columns = groups.of(read, own, baseline[0])
    changes, verdicts = {}, {}
    for name, outcomes in sides.compressed.items():
        changes[name] = compare_outcomes(
            first,
            outcomes,
            columns,
            margin=options.margin,
            texts=(sides.texts[""], sides.texts[name]),
            paired=paired or None,
            alpha=alpha,
            permutations=permutations,
        )
        verdicts[name] = judge(changes[name].measurements, limits)
        out.print(verdict_table(name, verdicts[name]))
        out.print()
    out.print(outcome_tables(changes, source.outcome, sides.notes))
    if directory is None:
        return
    sentences = {
        name: f"{verdict.outcome.upper()}: {' '.join(check.sentence for check in verdict.checks)}"
        for name, verdict in verdicts.items()
    }
    page = directory / "report.html"
    write_outcomes(page, changes, source.outcome, sides.notes, sentences)
    for file, frames in (
        ("groups.csv", {name: one.frame() for name, one in changes.items()}),
        ("examples.csv", {name: one.changed() for name, one in changes.items()}),
    ):
        table = pd.concat([frame.assign(model=name) for name, frame in frames.items()])
        write_requested("out", directory / file, csv_bytes(table[["model", *table.columns[:-1]]]))
    out.tell(f"report: {page}")
