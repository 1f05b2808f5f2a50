"""Conditions: tests of a model besides its test set, on a corruption at a severity or on a benchmark set of TFDS."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from tfaudit.datasets.corruptions.registry import CORRUPTIONS, SEVERITIES
from tfaudit.errors import InputError, require, require_one_of

_GRADED = ("cifar10_corrupted", "imagenet2012_corrupted")
"""Benchmark sets with configurations named CORRUPTION_SEVERITY."""

_NAME = re.compile(r"(mock:)?(?P<base>\w+)(/[\w.\-]+)?")


class Condition(NamedTuple):
    """A corruption and its severity; equal to the plain tuple.

    Attributes:
        corruption: a name of `tfaudit.corrupt`, or a benchmark set's TFDS name without its severity.
        severity: severity, 1 to 5; 0 for a set without severities.

    Example:
        >>> Condition("fog", 3).split, Condition("cifar10_corrupted/fog", 3).split, Condition("imagenet_a", 0).split
        ('fog-3', 'cifar10_corrupted.fog-3', 'imagenet_a')
    """

    corruption: str
    severity: int

    @property
    def split(self) -> str:
        """Name of the split, which is also a safe name for files and directories."""
        return re.sub("[/:]", ".", self._with_severity("-"))

    @property
    def title(self) -> str:
        """Readable name, such as "fog 3"."""
        return self._with_severity(" ")

    @property
    def is_computed(self) -> bool:
        """Whether the images are the corrupted test set; otherwise they are those of a benchmark set."""
        return self.corruption in CORRUPTIONS

    @property
    def dataset(self) -> str:
        """The TFDS name of a benchmark set; a computed corruption has none and raises `InputError`.

        Example:
            >>> Condition("cifar10_corrupted/fog", 3).dataset
            'cifar10_corrupted/fog_3'
        """
        if self.is_computed:
            raise InputError(
                "condition", f"{self.title!r}, computed from the test set", "a benchmark set"
            )
        return self._with_severity("_")

    def _with_severity(self, between: str) -> str:
        return f"{self.corruption}{between}{self.severity}" if self.severity else self.corruption


def benchmark_condition(name: str) -> Condition:
    """Return the condition of a benchmark set by its TFDS name, NAME or NAME/CONFIG, optionally after `mock:`.

    Raises:
        InputError: the name has another form or is that of a corruption.

    Example:
        >>> benchmark_condition("cifar10_corrupted/fog_3")
        Condition(corruption='cifar10_corrupted/fog', severity=3)
        >>> benchmark_condition("mnist_corrupted/fog")
        Condition(corruption='mnist_corrupted/fog', severity=0)
    """
    allowed = "NAME, NAME/CONFIG or NAME/* of a TFDS set, such as 'cifar10_corrupted/fog_3'"
    parts = _NAME.fullmatch(name)
    if parts is None or name in CORRUPTIONS:
        raise InputError("benchmarks", repr(name), allowed)
    base = parts["base"]
    if base not in _GRADED:
        return Condition(name, 0)
    graded = re.fullmatch(r"(.+/.+)_([1-5])", name)
    if graded is None:
        raise InputError("benchmarks", repr(name), f"{base}/CORRUPTION_SEVERITY or {base}/*")
    return Condition(graded[1], int(graded[2]))


def all_conditions(
    corruptions: Sequence[str], severities: Sequence[int], benchmarks: Sequence[str]
) -> tuple[Condition, ...]:
    """Return the conditions: every corruption of `tfaudit.corrupt` at every severity, then the benchmark sets of TFDS.

    Names ending in `/*` stand for all configurations prepared on a machine and are skipped here;
    `tfaudit.datasets.benchmarks.expand_wildcards` expands them.

    Raises:
        InputError: a corruption or severity is unknown, a benchmark name is malformed, or a value is repeated.

    Example:
        >>> [condition.split for condition in all_conditions(["fog", "snow"], [1, 5], ["imagenet_a"])]
        ['fog-1', 'fog-5', 'snow-1', 'snow-5', 'imagenet_a']
    """
    for name in corruptions:
        require_one_of("corruptions", name, CORRUPTIONS)
    for severity in severities:
        valid = type(severity) is int and severity in SEVERITIES
        require(valid, "severities", severity, "1, 2, 3, 4 and 5")
    conditions = [Condition(name, severity) for name in corruptions for severity in severities]
    for name in benchmarks:
        if name.endswith("/*"):
            valid = _NAME.fullmatch(name.removesuffix("/*")) is not None
            require(valid, "benchmarks", name, "NAME/*")
        else:
            conditions.append(benchmark_condition(name))
    for argument, values in (
        ("corruptions", corruptions),
        ("severities", severities),
        ("benchmarks", benchmarks),
    ):
        require(len(set(values)) == len(values), argument, list(values), "distinct values")
    return tuple(conditions)
