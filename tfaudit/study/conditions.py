"""What a model is tested on besides its test set: a corruption at a severity, or a benchmark set by its TFDS name."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from tfaudit.datasets.corruptions.registry import CORRUPTIONS, SEVERITIES
from tfaudit.errors import InputError, require

__all__ = ["Condition", "all_conditions", "benchmark_condition"]

_GRADED = ("cifar10_corrupted", "imagenet2012_corrupted")
"""Sets whose configurations are called CORRUPTION_SEVERITY."""

_NAME = re.compile(r"(mock:)?\w+(/[\w.\-]+)?")


class Condition(NamedTuple):
    """A corruption and its severity; equals the plain tuple.

    Attributes:
        corruption: a name of `tfaudit.corrupt`, or a benchmark set's TFDS name without its severity.
        severity: 1 to 5; 0 for a set without severities.

    Example:
        >>> Condition("fog", 3).split, Condition("cifar10_corrupted/fog", 3).split, Condition("imagenet_a", 0).split
        ('fog-3', 'cifar10_corrupted.fog-3', 'imagenet_a')
    """

    corruption: str
    severity: int

    @property
    def split(self) -> str:
        """The condition as the name of a split: of files and directories, too."""
        return re.sub("[/:]", ".", self.corruption) + f"-{self.severity}" * bool(self.severity)

    @property
    def title(self) -> str:
        """The condition for people."""
        return self.corruption + f" {self.severity}" * bool(self.severity)

    @property
    def is_computed(self) -> bool:
        """Whether the study's test set is corrupted here; else the images are a benchmark set's own."""
        return self.corruption in CORRUPTIONS

    @property
    def dataset(self) -> str:
        """The TFDS name of a benchmark set.

        Raises:
            InputError: the corruption is computed.

        Example:
            >>> Condition("cifar10_corrupted/fog", 3).dataset
            'cifar10_corrupted/fog_3'
        """
        if self.is_computed:
            raise InputError(f"condition: {self.title!r} is computed from the test set and is no data set")
        return self.corruption + f"_{self.severity}" * bool(self.severity)


def benchmark_condition(name: str) -> Condition:
    """The condition that a benchmark set stands for.

    Args:
        name: TFDS name, NAME or NAME/CONFIG, either after `mock:`.

    Raises:
        InputError: another form of name, or one of a corruption.

    Example:
        >>> benchmark_condition("cifar10_corrupted/fog_3")
        Condition(corruption='cifar10_corrupted/fog', severity=3)
        >>> benchmark_condition("mnist_corrupted/fog")
        Condition(corruption='mnist_corrupted/fog', severity=0)
    """
    allowed = "NAME, NAME/CONFIG or NAME/* of a TFDS set, such as 'cifar10_corrupted/fog_3'"
    require(bool(_NAME.fullmatch(name)) and name not in CORRUPTIONS, "benchmarks", name, allowed)
    if _base(name) in _GRADED:
        found = re.fullmatch(r"(.+/.+)_([1-5])", name)
        require(found is not None, "benchmarks", name, f"{_base(name)}/CORRUPTION_SEVERITY or {_base(name)}/*")
        return Condition(found[1], int(found[2]))  # type: ignore[index]
    return Condition(name, 0)


def all_conditions(
    corruptions: Sequence[str], severities: Sequence[int], benchmarks: Sequence[str]
) -> tuple[Condition, ...]:
    """The conditions in order: the corruptions at every severity, then the benchmark sets.

    A name that ends in `/*` stands for the configurations on a machine, and is left to
    `tfaudit.datasets.benchmarks.expand_wildcards`.

    Raises:
        InputError: an unknown corruption or severity, a malformed benchmark, or one that is named twice.

    Example:
        >>> [condition.split for condition in all_conditions(["fog", "snow"], [1, 5], ["imagenet_a"])]
        ['fog-1', 'fog-5', 'snow-1', 'snow-5', 'imagenet_a']
    """
    for name in corruptions:
        require(name in CORRUPTIONS, "corruptions", name, ", ".join(CORRUPTIONS))
    for severity in severities:
        require(type(severity) is int and severity in SEVERITIES, "severities", severity, "1, 2, 3, 4 and 5")
    for wildcard in (name for name in benchmarks if name.endswith("/*")):
        require(bool(_NAME.fullmatch(wildcard.removesuffix("/*"))), "benchmarks", wildcard, "NAME/*")
    named = (benchmark_condition(name) for name in benchmarks if not name.endswith("/*"))
    for argument, values in (("corruptions", corruptions), ("severities", severities), ("benchmarks", benchmarks)):
        require(len(set(values)) == len(values), argument, list(values), "each once")
    return (*(Condition(name, severity) for name in corruptions for severity in severities), *named)


def _base(name: str) -> str:
    return name.removeprefix("mock:").partition("/")[0]
