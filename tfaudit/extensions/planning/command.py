"""`tfaudit plan`: plan the numbers of members and images before anything is trained."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tfaudit.cli.console import out
from tfaudit.cli.flags import renamed
from tfaudit.cli.gate_limits import GateFile, LimitFlags, read_limits
from tfaudit.cli.options import StudyAlpha, option
from tfaudit.errors import InputError, require

if TYPE_CHECKING:
    import numpy as np
    from rich.table import Table

    from tfaudit.analysis.study_data import StudyData
    from tfaudit.audits.gate.limits import Limits
    from tfaudit.extensions.planning.lossless_model import LosslessModel
    from tfaudit.extensions.planning.planning import GatePlan, Plan

GUESSES = "Guesses where there is no pilot"


def plan(
    *,
    pilot: Annotated[
        Path | None,
        typer.Argument(help="Directory of a pilot study, such as two members and few examples."),
    ] = None,
    variant: Annotated[
        str | None,
        option("Compressed variant of the pilot, by its name or key; by default its first."),
    ] = None,
    gate: GateFile = None,
    limit_flags: LimitFlags,
    half_width: Annotated[
        float | None,
        option(
            "Target half-width of the confidence interval of a class's change, points; shows half-widths, too."
        ),
    ] = None,
    class_name: Annotated[
        str | None,
        option(
            "Class of the pilot whose half-widths to show; by default the mean of all.", "--class"
        ),
    ] = None,
    classes: Annotated[int, option("Number of classes.", panel=GUESSES)] = 10,
    groups: Annotated[
        int, option("Number of named groups, for --max-group-drop.", panel=GUESSES)
    ] = 2,
    accuracy: Annotated[float, option("Accuracy of a model on a class.", panel=GUESSES)] = 0.9,
    member_sd: Annotated[
        float,
        option("Standard deviation of a class's recall over members, points.", panel=GUESSES),
    ] = 1.0,
    heterogeneity: Annotated[
        float,
        option(
            "Share of the variance of right and wrong predictions that lies between examples.",
            panel=GUESSES,
        ),
    ] = 0.5,
    flips: Annotated[
        float,
        option(
            "Share of examples whose prediction compression turns right or wrong.", panel=GUESSES
        ),
    ] = 0.05,
    paired: Annotated[
        bool,
        option(
            "Each compressed member is made from a member of the baseline.",
            "--paired",
            panel=GUESSES,
        ),
    ] = False,
    members: Annotated[list[int] | None, option("Number of members to show, repeatable.")] = None,
    images: Annotated[
        list[int] | None, option("Number of examples of a class to show, repeatable.")
    ] = None,
    alpha: StudyAlpha = None,
) -> None:
    """Plan a study: how many members and images let the gate pass a model that loses nothing.

    With --max-group-drop a plan of its own says how many examples each named group needs.

    Example: tfaudit plan --paired --flips .03
    """
    from tfaudit.audits.comparison import Comparison
    from tfaudit.extensions.planning.planning import (
        IMAGES,
        MEMBERS,
        guessed_model,
        guessed_spread,
        pilot_spread,
        plan_gate,
        plannable,
    )
    from tfaudit.extensions.planning.planning import plan as plan_study

    is_width = half_width is None or half_width > 0
    require(is_width, "half_width", half_width, "percentage points above 0")
    limits = read_limits(gate, limit_flags)
    shown: Sequence[int] = members or MEMBERS
    if pilot is None:
        with renamed(member_sd_pp="member_sd"):
            spread = guessed_spread(
                accuracy=accuracy,
                member_sd_pp=member_sd,
                heterogeneity=heterogeneity,
                flips=flips,
                paired=paired,
                classes=classes,
            )
        source: LosslessModel | Comparison = guessed_model(spread, accuracy, classes)
        of_groups: LosslessModel | Comparison = guessed_model(spread, accuracy, groups)
        origin = "by guesses"
        named: Mapping[str, np.ndarray | None] = dict.fromkeys(_limited_columns(limits))
    else:
        from tfaudit.analysis.study_audit import StudyAudit

        study_audit = StudyAudit.open(pilot, alpha=alpha)
        data = study_audit.data
        alpha, limits = data.alpha, data.store.judging.applied(limits)
        require(
            bool(data.compressed_keys), "pilot", str(pilot), "a study with a compressed variant"
        )
        key = data.study.key_of(variant) if variant else data.compressed_keys[0]
        measured = study_audit.measurements(key)
        spread = pilot_spread(measured, class_name)
        source = of_groups = Comparison(data.baseline, data.populations[key], alpha=alpha)
        origin = f"by {data.titles[key]} of {pilot}"
        named = _limited_groups(limits, data)
        if measured.single:
            shown = [1]  # how members differ is unknown
    alpha = 0.05 if alpha is None else alpha
    sizes = images or IMAGES
    kind = "paired" if spread.paired else "independent"
    settings: dict[str, Any] = {"members": shown, "images": sizes, "alpha": alpha}
    of_classes = dataclasses.replace(limits, group_drop_pp=None, group_drops=None)
    if plannable(of_classes) or limits.group_drop_pp is None:
        _show_plan(plan_gate(source, of_classes, **settings), "class", f"{kind} members, {origin}")
    for noun, limit, codes in _plans_of_groups(limits, named):
        planned = plan_gate(of_groups, limit, groups=codes, **settings)
        _show_plan(planned, noun, f"{kind} members, {origin}")
    if half_width is not None:
        level = f"{100 * (1 - alpha):g} % interval"
        of = class_name or "a class"
        out.print(f"\nHalf-width of the {level} of the change of {of}, points.\n")
        widths = plan_study(spread, half_width, members=shown, images=sizes, alpha=alpha)
        out.print(_width_table(widths))


def _plans_of_groups(
    limits: Limits, named: Mapping[str, np.ndarray | None]
) -> Iterator[tuple[str, Limits, np.ndarray | None]]:
    """Yield what a plan for each limited column is about, its limits without those on classes, and the groups."""
    others = dataclasses.replace(
        limits, overall_drop_pp=None, worst_class_drop_pp=None, group_drops=None
    )
    for column, codes in named.items():
        [limit] = limits.of_groups([f"{column}: "])
        noun = f"group of {column}" if column else "group"
        yield noun, dataclasses.replace(others, group_drop_pp=limit), codes


def _limited_columns(limits: Limits) -> list[str]:
    """Return the columns of groups that have a limit of their own; "" if one limit is for all."""
    if limits.group_drop_pp is None:
        return []
    return [name for name, _ in limits.group_drops or [("", 0.0)]]


def _limited_groups(limits: Limits, data: StudyData) -> dict[str, np.ndarray]:
    """Return the group of each example of a pilot by column, `(N,)` integers each, of the columns that are limited."""
    from tfaudit.stats.group_codes import group_codes

    names = _limited_columns(limits)
    limited = [name for name in data.group_columns if "" in names or name in names]
    if names and not limited:
        wanted = " or ".join(filter(None, names)) or "named groups"
        raise InputError("pilot", f"a study without {wanted}", "a pilot study that has them")
    count = len(data.groups)
    return {name: group_codes(data.groups[name], count, name)[0] for name in limited}


def _show_plan(planned: GatePlan, noun: str, of: str) -> None:
    """Print a plan for each class, or for each group."""
    count = len(planned.model.recalls)
    nouns = f"{count} classes" if noun == "class" else f"{count} groups{noun[len('group') :]}"
    out.print(f"{_enough_in_words(planned, noun)}\n")
    out.print(
        f"Studies in which the gate passes a model that loses nothing, %: {planned.limits.in_words()}; {nouns}, {of}.\n"
    )
    out.print(_gate_table(planned))
    out.print()
    if 1 in planned.members:
        out.print("One member: the verdict is about these two models alone.")
    for note in planned.notes:
        out.print(note)


def _enough_in_words(planned: GatePlan, noun: str) -> str:
    """Return the smallest design that is enough, in one sentence."""
    passes = "4 of 5 models that lose nothing pass the gate"
    for members, images in zip(planned.members, planned.enough, strict=True):
        if images:
            sides = "one model against one" if members == 1 else f"{members:,} members on each side"
            return f"With {sides} and {images:,} examples of each {noun}, {passes}."
    return f"No number of examples is enough with up to {max(planned.members):,} members: fewer than {passes}."


def _gate_table(planned: GatePlan) -> Table:
    """Return the shares that pass, the images for 4 of 5, and for a pilot the interval of that promise."""
    ends = planned.promises.tolist()
    with_pilot = any(low == low for low, _ in ends)  # NaN without a pilot
    headings = [*(f"{count:,} examples" for count in planned.images), "examples for 80 %"]
    rows = []
    for shares, enough, (low, high) in zip(planned.passes, planned.enough, ends, strict=True):
        cells = [f"{100 * share:.0f}" for share in shares]
        cells.append(f"{enough:,}" if enough else "none")
        if with_pilot:
            cells.append(f"{100 * low:.0f} to {100 * high:.0f}" if enough else "")
        rows.append(cells)
    if with_pilot:
        headings.append("95 % interval")
    return _table(planned.members, headings, rows)


def _width_table(planned: Plan) -> Table:
    headings = [
        *(f"{count:,} examples" for count in planned.images),
        f"examples for {planned.half_width:g}",
    ]
    rows = [
        [*(f"{width:.1f}" for width in widths), f"{design.images:,}" if design else "none"]
        for widths, design in zip(planned.half_widths, planned.smallest, strict=True)
    ]
    return _table(planned.members, headings, rows)


def _table(members: tuple[int, ...], headings: list[str], rows: list[list[str]]) -> Table:
    from tfaudit.outlets.grid import Grid

    headings = [heading.replace(" ", "\n") for heading in ["members", *headings]]
    counted = ([f"{count}", *cells] for count, cells in zip(members, rows, strict=True))
    return Grid.of_rows(headings, counted, words=0).in_terminal(gap=2)
