"""Limits of a gate from a TOML file and from flags."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any

import typer

from tfaudit.audits.gate.limits import (
    CLASS_LIMITS,
    FLAGS,
    MANY_CLASSES,
    QUANTITIES,
    REMOVED,
    Limits,
    flag_of,
    removed,
)
from tfaudit.cli.options import Group, option
from tfaudit.errors import InputError, one_line, require
from tfaudit.runtime.regular_files import read_regular


def _set(limits: Limits) -> str:
    return ", ".join(f"{name} = {limit:g}" for name, limit in limits.as_dict().items())


GateFile = Annotated[
    Path | None,
    option(
        "TOML file whose table gate holds the limits; by default "
        f"{_set(Limits().for_classes(2))} for two classes; with more, no limit of precision; with {MANY_CLASSES} "
        f"classes or more {_set(Limits().for_classes(MANY_CLASSES))}.",
        "--gate",
        "--config",
    ),
]


_PANEL = "Limits"

LimitFlags = Annotated[
    dict[str, Any],
    Group(
        dict,
        (
            *Group.of_names(
                float,
                {
                    **{
                        flag: option(
                            f"{QUANTITIES[name].description} In TOML: {name}.", panel=_PANEL
                        )
                        for name, flag in FLAGS.items()
                        if name != "group_drop_pp"
                    },
                    "min_baseline_accuracy": option(
                        "Minimum accuracy of the baseline, in [0, 1]; below it nothing is judged.",
                        panel=_PANEL,
                    ),
                    **{f"max_{name}": typer.Option(hidden=True) for name in REMOVED},
                },
            ).parameters,
            *Group.of_names(
                str,
                {
                    FLAGS["group_drop_pp"]: option(
                        f"{QUANTITIES['group_drop_pp'].description} In TOML: group_drop_pp.",
                        panel=_PANEL,
                    ),
                    "positive": option(
                        "Positive class of two, for limits that need one.", panel=_PANEL
                    ),
                },
            ).parameters,
        ),
    ),
]


def read_limits(config: Path | None, flags: Mapping[str, Any] = MappingProxyType({})) -> Limits:
    """Return the limits of the `[gate]` table of a TOML file; flags override them; without any, defaults hold."""
    for name in REMOVED:
        value = flags.get(f"max_{name}")
        require(value is None, flag_of(name), value, removed(name, *map(flag_of, CLASS_LIMITS)))
    settings = {} if config is None else _gate_table(config)
    names = {flag: name for name, flag in FLAGS.items()}
    given = {names.get(flag, flag): value for flag, value in flags.items() if value is not None}
    if "group_drop_pp" in given:
        given["group_drop_pp"] = _of_groups(given["group_drop_pp"])
    chosen = {**settings, **given}
    if config is not None and not QUANTITIES.keys() & chosen.keys():
        raise InputError(
            "config", f"{config} without limits", f"one or more of {', '.join(QUANTITIES)}"
        )
    try:
        return Limits.from_mapping(chosen)
    except InputError as problem:
        if problem.argument not in given:
            raise
        raise InputError(flag_of(problem.argument), problem.got, problem.expected) from None


def _of_groups(text: str) -> float | dict[str, float]:
    """Return the limit on groups of `--max-group-drop`: a number, or COLUMN=NUMBER,...

    Example:
        >>> _of_groups("3"), _of_groups("sex=2,skin=3")
        (3.0, {'sex': 2.0, 'skin': 3.0})
    """
    try:
        if "=" not in text:
            return float(text)
        parts = [part.rpartition("=") for part in text.split(",")]
        return {name.strip(): float(limit) for name, _, limit in parts}
    except ValueError:
        expected = "percentage points, or COLUMN=POINTS,..."
        raise InputError(flag_of("group_drop_pp"), text, expected) from None


def _gate_table(config: Path) -> dict[str, Any]:
    try:
        content = tomllib.loads(read_regular(config).decode())
    except OSError as problem:
        got = f"{config}, which cannot be read ({problem.strerror})"
        raise InputError("config", got, "a TOML file") from None
    except (ValueError, RecursionError) as problem:  # also integers of 5,000 digits
        got = f"{config}, which is not TOML ({one_line(problem)})"
        raise InputError("config", got, "a TOML file") from None
    table = content.get("gate")
    if not isinstance(table, dict):
        tables = ", ".join(content) or "nothing"
        raise InputError("config", f"{config} with {tables}", "a table [gate]")
    if table:
        try:
            Limits.from_mapping(table)
        except InputError as problem:
            argument = f"config: {config}, {problem.argument}"
            raise InputError(argument, problem.got, problem.expected) from None
    return table
