"""Remedies of a study: methods that reduce the losses of compression while members are fine-tuned."""

import dataclasses
import itertools
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, ClassVar

from tfaudit.errors import InputError, listed, require
from tfaudit.extensions import Registry
from tfaudit.study.settings import changed_settings


@dataclasses.dataclass(frozen=True, kw_only=True)
class Remedy:
    """Settings of a remedy; one of pruning has a method `callback`, which takes the dense model."""

    name: ClassVar[str]
    word: ClassVar[str]  # name in tables for a model that was trained with it

    @property
    def key(self) -> str:
        """Name and changed settings, such as `distillation.temperature=2`, in safe characters only."""
        return self.name + "".join(
            f".{name}={_text(value)}" for name, value in changed_settings(self).items()
        )

    @property
    def title(self) -> str:
        """Word and changed settings, such as `distilled (temperature 2)`."""
        return self.title_with(changed_settings(self))

    def title_with(self, settings: Collection[str]) -> str:
        """Return the word, and the named settings that differ from their defaults."""
        changed = [
            f"{name} {_text(value, ' and ')}"
            for name, value in changed_settings(self).items()
            if name in settings
        ]
        return self.word + (f" ({', '.join(changed)})" if changed else "")

    def to_json(self) -> dict[str, Any]:
        """Return name and settings as JSON values."""
        return {"name": self.name, **self.settings()}

    def settings(self) -> dict[str, Any]:
        """Return the settings, which are arguments of the callback."""
        return dataclasses.asdict(self)


REMEDIES = Registry("remedies", {})
"""Remedies of pruning by name; each has a method `callback`."""

QUANTIZATION_REMEDIES = Registry("quantization_remedies", {})
"""Remedies of int8 by name; each has methods `check` and `copy`, which take a model and the layers to keep in float."""


def in_words(remedies: Sequence[Remedy], settings: Collection[str] = ()) -> str:
    """Return the name in tables for a model trained with remedies, with the named settings if they are changed.

    >>> @dataclasses.dataclass(frozen=True, kw_only=True)
    ... class Cooling(Remedy):
    ...     degrees: float = 1.0
    ...     name, word = "cooling", "cooled"
    >>> in_words([Cooling(degrees=2.0)]), in_words([Cooling(degrees=2.0)], ["degrees"])
    ('cooled', 'cooled (degrees 2)')
    """
    return " + ".join(remedy.title_with(settings) for remedy in remedies)


def distinguishing_settings(several: Collection[Sequence[Remedy]]) -> tuple[str, ...]:
    """Return the settings without which `in_words` would describe different remedies alike.

    >>> distinguishing_settings([[], []])
    ()
    """
    if len({in_words(remedies) for remedies in several}) == len(several):
        return ()
    values: dict[tuple[str, str], set[Any]] = {}
    for remedy in itertools.chain.from_iterable(several):
        for name, value in remedy.settings().items():
            values.setdefault((remedy.name, name), set()).add(value)
    return tuple(dict.fromkeys(name for (_, name), found in values.items() if len(found) > 1))


def remedies_of(value: Any, kinds: Mapping[str, type[Any]] = REMEDIES) -> tuple[Any, ...]:
    """Return remedies from one or several of them, their names, or their JSON values; none from None.

    >>> remedies_of(None), remedies_of([])
    ((), ())
    """
    several = value if isinstance(value, list | tuple) else () if value is None else (value,)
    remedies = tuple(_one(one, kinds) for one in several)
    names = [remedy.name for remedy in remedies]
    require(len(set(names)) == len(names), "remedy", names, "remedies that differ")
    return remedies


def _one(value: Any, kinds: Mapping[str, type[Any]]) -> Any:
    if isinstance(value, tuple(kinds.values())):
        return value
    settings = dict(value) if isinstance(value, Mapping) else {"name": value}
    name = settings.pop("name", None)
    if not isinstance(name, str) or name not in kinds:
        expected = f"{' or '.join(map(repr, kinds))}, or tfaudit.study remedies with settings"
        raise InputError("remedy", repr(value if name is None else name), expected)
    known = [field.name for field in dataclasses.fields(kinds[name])]
    if unknown := [setting for setting in settings if setting not in known]:
        raise InputError(
            "remedy", f"{name!r} with {listed(unknown)}", f"settings {listed(known, 9)}"
        )
    return kinds[name](**settings)


def _text(value: object, between: str = "_") -> str:
    if isinstance(value, tuple):
        return between.join(map(_text, value))
    return re.sub(
        r"[^A-Za-z0-9._=+-]+", "-", f"{value:g}" if isinstance(value, float) else str(value)
    )
