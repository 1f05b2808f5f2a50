"""Settings in frozen dataclasses: setting and checking them, and finding those that differ from their defaults."""

import dataclasses
import math
from typing import Any

from tfaudit.errors import require, require_least


def set_fields(owner: object, **values: Any) -> None:
    """Set fields of a frozen dataclass while it is made."""
    for name, value in values.items():
        object.__setattr__(owner, name, value)


def check_settings(owner: object, **rules: tuple[bool, str]) -> None:
    """Raise an `InputError` for the first setting that is not valid.

    Args:
        owner: the dataclass that holds the settings.
        **rules: for each setting by its name, whether the value is valid, and what is allowed.

    Example:
        >>> from types import SimpleNamespace
        >>> check_settings(SimpleNamespace(share=2), share=(0 <= 2 < 1, "a share in [0, 1)"))
        Traceback (most recent call last):
        tfaudit.errors.InputError: share: got 2, expected a share in [0, 1)
    """
    for name, (valid, expected) in rules.items():
        require(valid, name, getattr(owner, name), expected)


def check_least(owner: object, **least: float) -> None:
    """Raise an `InputError` for the first setting below its least value; None is valid.

    Example:
        >>> from types import SimpleNamespace
        >>> check_least(SimpleNamespace(steps=0, limit=None), limit=1, steps=1)
        Traceback (most recent call last):
        tfaudit.errors.InputError: steps: got 0, expected 1 or more
    """
    for name, bound in least.items():
        require_least(bound, **{name: getattr(owner, name)})


def check_positive(owner: object, *names: str) -> None:
    """Raise an `InputError` for the first of some settings that is not finite and above 0; None is valid."""
    for name in names:
        value = getattr(owner, name)
        require(value is None or 0 < value < math.inf, name, value, "a number above 0")


def changed_settings(owner: Any) -> dict[str, Any]:
    """Return the fields of a dataclass that differ from their defaults, by name."""
    values = {field: getattr(owner, field.name) for field in dataclasses.fields(owner)}
    return {field.name: value for field, value in values.items() if value != field.default}
