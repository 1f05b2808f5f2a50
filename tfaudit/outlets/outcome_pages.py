"""Changes of outcomes: tables for the terminal, and one self-contained page with prompts and answers."""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Group, RenderableType
from rich.text import Text

from tfaudit.analysis.outcome_changes import OutcomeChanges
from tfaudit.audits.gate.measurements import CHANGES
from tfaudit.charts.renderer import can_draw
from tfaudit.errors import plural, printable
from tfaudit.outlets.change_grid import groups_grid
from tfaudit.outlets.columns import P, TextColumn, signed
from tfaudit.outlets.grid import Grid
from tfaudit.outlets.html import drawings, style_sheet
from tfaudit.outlets.sections.section import Figure, Section
from tfaudit.outlets.templates import PAGES
from tfaudit.store.requested_files import write_requested

IN_TERMINAL, IN_PAGE = 5, 200
"""Numbers of changed examples that are shown."""

GROUPS = 12
"""Number of groups in a terminal."""

LONGEST = 60
"""Characters of a text in a terminal."""


def outcome_tables(
    changes: Mapping[str, OutcomeChanges], outcome: str, notes: Sequence[str] = ()
) -> RenderableType:
    """Return what changes in each compressed model: sentences, its groups, and the examples that fall most.

    Args:
        changes: changes by name of the compressed model.
        outcome: name of the outcome.
        notes: notes to print before those of the changes.
    """
    parts: list[RenderableType] = []
    for name, result in changes.items():
        lines = " ".join(findings(result, outcome))
        parts.append(Text.assemble((printable(name), "bold"), f": {lines}\n"))
        frame = result.frame()
        if len(frame) > 1:
            parts += [_groups(result, GROUPS).in_terminal(most=30, gap=2), Text()]
            if len(frame) > GROUPS + 1:
                parts.append(Text(f"and {len(frame) - GROUPS - 1:,} more groups\n"))
        grid = _examples(result, IN_TERMINAL, LONGEST)
        if grid.rows:
            parts += [Text(f"{grid.title}\n"), grid.in_terminal(least=8, most=24), Text()]
    every = dict.fromkeys([*notes, *(note for one in changes.values() for note in one.notes)])
    return Group(*parts, *(Text(printable(note)) for note in every))


def write_outcomes(
    path: Path,
    changes: Mapping[str, OutcomeChanges],
    outcome: str,
    notes: Sequence[str] = (),
    verdicts: Mapping[str, str] | None = None,
) -> None:
    """Write the changes as one HTML file: a section per compressed model; other arguments as for `outcome_tables`.

    Args:
        path: the file.
        changes: changes by name of the compressed model.
        outcome: name of the outcome.
        notes: notes for every section.
        verdicts: sentence on the verdict by name of the compressed model; None without limits.

    Raises:
        InputError: a path that cannot be written.
    """
    sections = [
        _section(name, result, outcome, notes, (verdicts or {}).get(name, ""))
        for name, result in changes.items()
    ]
    first = next(iter(changes.values()))
    page = PAGES.get_template("studies.html.j2").render(
        style=style_sheet("report.css"),
        title=f"{outcome}: what compression changes",
        heading=f"What compression changes in {outcome}",
        lead=f"{len(first.examples):,} examples; {plural(len(changes), 'compressed model')}.",
        sections=sections,
        drawings=drawings(sections),
        sources={},
    )
    write_requested("out", path, page.encode())


def findings(result: OutcomeChanges, outcome: str) -> list[str]:
    """Return what changes, one sentence each."""
    facts = result.summary()
    change, low, high = (signed(facts[name]) for name in CHANGES)
    before, after = (f"{100 * facts[name]:.2f}" for name in ("before", "after"))
    sentences = [
        f"Mean {outcome} goes from {before} to {after} %: {change} points ({low} to {high}, {result.level} interval)."
    ]
    beyond = f" by more than {result.margin:g}" * (result.margin > 0)
    counts = (
        f"{facts['fell']:,} of {facts['examples']:,} examples fall{beyond}, {facts['rose']:,} rise"
    )
    if facts["fell_by_chance"] is None:
        sentences.append(f"{counts}.")
    else:
        expected = f"{facts['fell_by_chance']:,.1f} would fall if compression changed no more than training again"
        sentences.append(f"{counts}; {expected} (p = {P.text(facts['fell_p'])}).")
    sentences += [
        f"{value:,} examples have another {name.removeprefix('other_')}."
        for name, value in facts.items()
        if name.startswith("other_")
    ]
    groups = result.frame().iloc[1:]
    lost = groups[(groups["p_holm"] <= result.alpha) & (groups["change_pp"] < 0)]
    if len(groups) and lost.empty:
        sentences.append(f"No loss is shown for any of {plural(len(groups), 'group')}.")
    elif len(groups):
        worst = lost.sort_values("change_pp", kind="stable").iloc[0]
        ends = f"{signed(worst['change_low_pp'])} to {signed(worst['change_high_pp'])}"
        sentences.append(
            f"A loss is shown for {len(lost)} of {plural(len(groups), 'group')}, the largest for {worst['group']} "
            f"({plural(int(worst['examples']), 'example')}): {signed(worst['change_pp'])} points ({ends})."
        )
    return sentences


def _section(
    name: str, result: OutcomeChanges, outcome: str, notes: Sequence[str], verdict: str
) -> Section:
    key = f"outcomes-{name}"
    groups = len(result.frame()) > 1
    figures: tuple[Figure, ...] = ()
    if groups and can_draw():
        text = "A row per group: its change with the interval."
        figures = (Figure(key, result.chart(), text),)
    tables = [_groups(result)] if groups else []
    examples = _examples(result, IN_PAGE)
    if examples.rows:
        tables.append(examples)
    return Section(
        key,
        "Changes of outcomes",
        f"What does {name} change?",
        "",
        figures,
        tuple(tables),
        (*notes, *result.notes),
        findings=(*filter(None, [verdict]), *findings(result, outcome)),
        method=(
            "Before and after on the same examples; p-values of groups are Holm's. Examples are listed by their fall "
            "beyond what two baseline models differ by."
        ),
    )


def _groups(result: OutcomeChanges, most: int | None = None) -> Grid:
    """Return all examples, and the groups that lose most."""
    grid = groups_grid("group", result.measurements)
    rows = slice(None if most is None else most + 1)
    columns = (dataclasses.replace(column, cells=column.cells[rows]) for column in grid.columns)
    return dataclasses.replace(grid, columns=tuple(columns))


def _examples(result: OutcomeChanges, most: int, longest: int | None = None) -> Grid:
    """Return the examples that change most, with their texts."""
    table = result.changed()
    shown = table.head(most)
    figures = {name: tuple(f"{value:.3g}" for value in shown[name]) for name in ("before", "after")}
    columns = [TextColumn("example", "", tuple(map(str, shown["example"])), numeric=False)]
    columns += [TextColumn(name, "", cells, numeric=True) for name, cells in figures.items()]
    for name in shown.columns[list(table.columns).index("retrained") + 1 :]:
        texts = tuple(" ".join(str(text).split())[:longest] for text in shown[name])
        columns.append(TextColumn(name, "", texts, numeric=False))
    title = f"Examples that change, {len(shown):,} of {len(table):,}, those that fall most first"
    return Grid(title, tuple(columns))
