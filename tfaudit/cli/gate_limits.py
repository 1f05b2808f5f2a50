"""Limits of a gate from a TOML file and from flags."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any

from tfaudit.audits.gate.limits import DEFAULT_LIMITS, FLAGS, QUANTITIES, Limits
from tfaudit.cli.options import option
from tfaudit.errors import InputError, one_line

GateFile = Annotated[
    Path | None,
    option(
        "TOML file whose table gate holds the limits; by default "
        + ", ".join(f"{name} = {limit:g}" for name, limit in DEFAULT_LIMITS.as_dict().items())
        + ".",
        "--gate",
        "--config",
    ),
]


def read_limits(
    config: Path | None, flags: Mapping[str, float | None] = MappingProxyType({})
) -> Limits:
    """Return the limits of the `[gate]` table of a TOML file, with those that flags override, else the defaults."""
    settings: dict[str, Any] = {}
    if config is not None:
        try:
            content = tomllib.loads(config.read_text(encoding="utf-8"))
        except OSError as problem:
            raise InputError(
                "config", f"{config}, which cannot be read ({problem.strerror})", "a TOML file"
            ) from None
        except (ValueError, RecursionError) as problem:  # also integers of 5,000 digits
            raise InputError(
                "config", f"{config}, which is not TOML ({one_line(problem)})", "a TOML file"
            ) from None
        settings = content.get("gate", {})
        if not isinstance(settings, dict) or "gate" not in content:
            tables = ", ".join(content) or "nothing"
            raise InputError("config", f"{config} with {tables}", "a table [gate]")
        if settings:
            try:
                Limits.from_mapping(settings)
            except InputError as problem:
                argument = f"config: {config}, {problem.argument}"
                raise InputError(argument, problem.got, problem.expected) from None
    chosen = {**settings, **flags}
    if config is None and not QUANTITIES.keys() & chosen.keys():
        chosen = {**DEFAULT_LIMITS.as_dict(), **chosen}
    try:
        return Limits.from_mapping(chosen)
    except InputError as problem:
        if problem.argument not in flags:
            raise
        raise InputError(flag_of(problem.argument), problem.got, problem.expected) from None


def flag_of(name: str) -> str:
    """Return the flag of a limit, as it is typed.

    Example:
        >>> flag_of("worst_class_drop_pp"), flag_of("min_baseline_accuracy")
        ('--max-worst-class-drop', '--min-baseline-accuracy')
    """
    return "--" + FLAGS.get(name, name).replace("_", "-")
