"""Options that a function passes on as they are, listed in its signature."""

import functools
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

        @functools.wraps(function)
        def passed_on(*arguments: object, **options: object) -> object:
            return function(*arguments, **options)

        # Readers of source text, such as Sphinx, would look for the defaults of the fields in the function's own.
        del passed_on.__wrapped__  # type: ignore[attr-defined]
        passed_on.__signature__ = signature.replace(parameters=[*own, *fields])  # type: ignore[attr-defined]
        return passed_on  # type: ignore[return-value]

    return listed
