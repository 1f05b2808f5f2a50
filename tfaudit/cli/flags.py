"""Errors that name the flag that the user typed, where the library names an argument."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from typer.core import TyperCommand

from tfaudit.errors import InputError


class FlagCommand(TyperCommand):
    """A subcommand whose errors name its flags."""

    def make_context(self, *arguments: Any, **options: Any) -> Any:
        """Parse the arguments."""
        with errors_naming_flags(self.params):
            return super().make_context(*arguments, **options)

    def invoke(self, context: Any) -> Any:
        """Run the command."""
        with errors_naming_flags(self.params, context.params):
            return super().invoke(context)


@contextlib.contextmanager
def errors_naming_flags(
    parameters: Iterable[Any], values: Mapping[str, Any] | None = None
) -> Iterator[None]:
    """Name the flag of an option in errors about it; errors about anything else stay as they are.

    An option without a value is named only in errors that say so: others are about a recipe's setting of that name.

    Args:
        parameters: parameters of the command.
        values: their values by name; None while they are read.
    """
    try:
        yield
    except InputError as error:
        is_absent = error.got.startswith(("no ", "none", "nothing"))
        named = [
            parameter
            for parameter in parameters
            if values is None or is_absent or values.get(parameter.name) not in (None, (), [])
        ]
        error.argument = _in_flags(error.argument, _flags(named))
        raise


@contextlib.contextmanager
def renamed(**names: str) -> Iterator[None]:
    """Name arguments of the library as the command does, in errors, such as `renamed(name="data")`."""
    try:
        yield
    except InputError as error:
        error.argument = names.get(error.argument, error.argument)
        raise


def _flags(parameters: Iterable[Any]) -> dict[str, str]:
    """Return the flag of each option, or the name of an argument, by the names that errors may give it."""
    flags: dict[str, str] = {}
    for parameter in parameters:  # an argument has no flags but its name
        names = [name.removeprefix("--").replace("-", "_") for name in parameter.opts]
        flags |= dict.fromkeys([*names, parameter.name], parameter.opts[0])
    return flags


def _in_flags(argument: str, flags: dict[str, str]) -> str:
    """Return what an error is about with flags for names of options.

    Example:
        >>> flags = {"baseline": "--baseline", "compressed": "--compressed", "config": "--gate"}
        >>> [_in_flags(name, flags) for name in ("baseline, compressed", "config: a.toml, table", "a.npz")]
        ['--baseline, --compressed', '--gate: a.toml, table', 'a.npz']
    """
    head, colon, rest = argument.partition(": ")
    names = head.split(", ")
    if not all(name in flags for name in names):
        return argument
    return ", ".join(flags[name] for name in names) + colon + rest
