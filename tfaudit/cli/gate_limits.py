"""The limits of `tfaudit gate`: a TOML file, and flags that override it."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path

from tfaudit.audit.gate.limits import Limits
from tfaudit.errors import InputError

__all__ = ["read_limits"]


def read_limits(config: Path | None, flags: Mapping[str, float | None]) -> Limits:
    """Limits of the `[gate]` table of a file, where no flag gives another.

    Args:
        config: a TOML file, or None.
        flags: by name of the limit; None where the flag was not given.

    Raises:
        InputError: a file that cannot be read or says something else, or limits that are not allowed.

    Example:
        >>> read_limits(None, {"flips": 0.02, "size_ratio": None}).given()
        {'flips': 0.02}
    """
    settings = _gate_table(config) if config else {}
    if settings:
        try:
            Limits.from_mapping(settings)
        except InputError as problem:
            raise InputError(f"config: {config}: {problem}") from None
    return Limits.from_mapping({**settings, **{name: value for name, value in flags.items() if value is not None}})


def _gate_table(config: Path) -> dict[str, float]:
    try:
        content = tomllib.loads(config.read_text(encoding="utf-8"))
    except OSError as problem:
        raise InputError(f"config: {config} cannot be read ({problem.strerror})") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        raise InputError(f"config: {config} is not TOML ({problem})") from None
    table = content.get("gate")
    if not isinstance(table, dict):
        raise InputError(f"config: {config} has no [gate] table; it holds {', '.join(content) or 'nothing'}")
    return table
