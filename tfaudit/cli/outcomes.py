"""What changes in outcomes: printed, and written as a page and as tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tfaudit.cli.console import out

if TYPE_CHECKING:
    from tfaudit.audits.gate.limits import Limits
    from tfaudit.cli.named_groups import GroupOptions
    from tfaudit.readers.outcome_files import OutcomeFiles


def audit_outcomes(
    source: OutcomeFiles,
    baseline: Sequence[Path],
    compressed: Mapping[str, Sequence[Path]],
    margin: float | None,
    *,
    groups: GroupOptions,
    limits: Limits | None = None,
    paired: bool = False,
    alpha: float = 0.05,
    permutations: int = 1000,
    directory: Path | None = None,
) -> None:
    """Print what changes, and with limits the verdict; write a page, two tables, and what `tfaudit view` shows.

    Args:
        source: how the files are read.
        baseline: files of the uncompressed models, or folders of lm-evaluation-harness.
        compressed: those of the compressed ones by name.
        margin: as for `compare_outcomes`.
        groups: which columns are groups.
        limits: limits of the gate; without them nothing is judged.
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
    from tfaudit.outlets.csv_files import csv_bytes
    from tfaudit.outlets.gate_tables import verdict_table
    from tfaudit.outlets.outcome_folder import ModelOutcomes, OutcomeFolder, write_outcome_folder
    from tfaudit.outlets.outcome_pages import findings, outcome_tables, write_outcomes
    from tfaudit.readers.outcome_files import read_sides
    from tfaudit.store.requested_files import write_requested

    if limits is not None:
        limits.require_only(*OF_OUTCOMES)
    sides = read_sides(source, baseline, compressed)
    columns = groups.of_outcomes(sides, str(baseline[0]), source.id_name)
    changes, verdicts = {}, {}
    for name, outcomes in sides.compressed.items():
        changes[name] = compare_outcomes(
            sides.baseline,
            outcomes,
            columns,
            margin=margin,
            min_group=groups.min_group,
            texts=(sides.texts[""], sides.texts[name]),
            paired=paired or None,
            alpha=alpha,
            permutations=permutations,
        )
        if limits is not None:
            verdicts[name] = judge(changes[name].measurements, limits)
            out.print(verdict_table(name, verdicts[name]))
            out.print()
    out.print(outcome_tables(changes, source.outcome, sides.notes))
    if directory is None:
        return
    sentences = {
        name: tuple(check.sentence for check in verdict.checks)
        for name, verdict in verdicts.items()
    }
    spoken = {
        name: f"{verdict.outcome.upper()}: {' '.join(sentences[name])}"
        for name, verdict in verdicts.items()
    }
    page = directory / "report.html"
    write_outcomes(page, changes, source.outcome, sides.notes, spoken)
    models = {
        name: ModelOutcomes(
            verdicts[name].outcome if name in verdicts else "",
            sentences.get(name, ()),
            tuple(findings(one, source.outcome)),
            (*sides.notes, *one.notes),
            one.frame(),
            one.changed(),
        )
        for name, one in changes.items()
    }
    write_outcome_folder(directory, OutcomeFolder(source.outcome, alpha, models))
    for file, part in (("groups.csv", "groups"), ("examples.csv", "examples")):
        tables = [getattr(one, part).assign(model=name) for name, one in models.items()]
        table = pd.concat(tables)
        write_requested("out", directory / file, csv_bytes(table[["model", *table.columns[:-1]]]))
    out.tell(f"report: {page}")
