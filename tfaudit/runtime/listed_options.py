"""Options that a function passes on as they are, listed in its signature."""

import inspect
from collections.abc import Callable
from typing import TypeVar

Function = TypeVar("Function", bound=Callable[..., object])


def with_options_of(kind: type, *taken: str) -> Callable[[Function], Function]:
    """List the fields of a dataclass in place of `**options` in the signature that `help` and editors show.

    Args:
        kind: dataclass that takes the options by name.
        *taken: fields that the function has itself, or sets.

    Example:
        >>> import dataclasses
        >>> @dataclasses.dataclass(kw_only=True)
        ... class Options:
        ...     workers: int = 1
        >>> @with_options_of(Options)
        ... def run(study, **options): ...
        >>> inspect.signature(run)
        <Signature (study, *, workers: int = 1)>
    """

    def listed(function: Function) -> Function:
        signature = inspect.signature(function)
        own = [
            parameter
            for parameter in signature.parameters.values()
            if parameter.kind is not inspect.Parameter.VAR_KEYWORD
        ]
        fields = [
            field for name, field in inspect.signature(kind).parameters.items() if name not in taken
        ]
        function.__signature__ = signature.replace(parameters=[*own, *fields])  # type: ignore[attr-defined]
        return function

    return listed
