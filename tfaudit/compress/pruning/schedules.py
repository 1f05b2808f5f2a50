"""Pruning schedules: when masks are updated, and to which sparsity.

A schedule is a pure function of a step: `at(step) -> (whether to prune now, sparsity)`. Steps count from 1, as in
TF-MOT, whose schedules have the same names, fields and values, to the bit. TF-MOT's own objects are read by their
fields, so nothing imports it.
"""

import dataclasses
from collections.abc import Callable
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np

from tfaudit.errors import InputError, require, require_least, require_whole

TFMOT_MODULE = "tensorflow_model_optimization.python.core.sparsity.keras.pruning_schedule"
"""The module of TF-MOT's schedules."""


class Schedule:
    """Base class of schedules."""

    def at(self, step: int) -> tuple[bool, float]:
        """Return whether to prune at a step, and the sparsity then."""
        raise NotImplementedError

    def last_update(self, step: int) -> int:
        """Return the last step up to `step` with an update; 0 if there is none."""
        raise NotImplementedError

    def sparsity_by(self, step: int) -> float:
        """Return the sparsity of the last update up to a step; 0 before the first one."""
        last = self.last_update(step)
        return self.at(last)[1] if last else 0.0

    def goal(self, step: int) -> float:
        """Return the sparsity that a training which ends with a step is to reach."""
        return self.sparsity_by(step)

    def prunes(self, first: int, last: int) -> bool:
        """Return whether an update from step `first` to step `last` has a sparsity above 0; True if it is unknown."""
        return True


class Periodic(Schedule):
    """Base class of schedules with an update every `frequency` steps from `begin_step` to `end_step`.

    Attributes:
        begin_step: first step with an update.
        end_step: last step that may have one; -1 for no end.
        frequency: steps between two updates.
        sparsities: sparsities of the updates, float32; the last one stays.
    """

    begin_step: int
    end_step: int
    frequency: int
    sparsities: np.ndarray

    def at(self, step: int) -> tuple[bool, float]:
        """Return whether to prune at a step, and the sparsity then."""
        return bool(self.due(step)), self._sparsity(step)

    def due(self, step: Any) -> Any:
        """Return whether a step, which may be a tensor, has an update."""
        due = (step >= self.begin_step) & ((step - self.begin_step) % self.frequency == 0)
        return due & (step <= self.end_step) if self.end_step >= 0 else due

    def last_update(self, step: int) -> int:
        """Return the last step up to `step` with an update; 0 if there is none."""
        last = min(step, self.end_step) if self.end_step >= 0 else step
        return last - (last - self.begin_step) % self.frequency if last >= self.begin_step else 0

    def prunes(self, first: int, last: int) -> bool:
        """Return whether an update from step `first` to step `last` has a sparsity above 0."""
        start = max(first, self.begin_step)
        updates = start + (self.begin_step - start) % self.frequency, self.last_update(last)
        return updates[0] <= updates[1] and max(map(self._sparsity, updates)) > 0

    def _sparsity(self, step: int) -> float:
        raise NotImplementedError

    def _check(self, **sparsities: object) -> None:
        for argument, sparsity in sparsities.items():
            check_sparsity(argument, sparsity)
        require_whole("begin_step", self.begin_step, 0)
        require_whole("end_step", self.end_step, -1)
        require_whole("frequency", self.frequency, 1)


@dataclasses.dataclass(frozen=True)
class ConstantSparsity(Periodic):
    """Schedule of one sparsity, every `frequency` steps from `begin_step` to `end_step`; -1, the default, for no end.

    Raises:
        InputError: a value is out of range.

    >>> schedule = ConstantSparsity(0.5, begin_step=10, frequency=5)
    >>> [step for step in range(21) if schedule.at(step)[0]]
    [10, 15, 20]
    >>> schedule.at(15)
    (True, 0.5)
    """

    target_sparsity: float
    begin_step: int
    end_step: int = -1
    frequency: int = 100

    def __post_init__(self) -> None:
        self._check(target_sparsity=self.target_sparsity)
        if 0 <= self.end_step < self.begin_step:
            raise InputError("end_step", f"{self.end_step}", f"-1 or {self.begin_step} or more")

    @cached_property
    def sparsities(self) -> np.ndarray:  # type: ignore[override]
        """The one sparsity, float32 `(1,)`."""
        return np.full(1, self.target_sparsity, np.float32)

    def _sparsity(self, step: int) -> float:
        return float(np.float32(self.target_sparsity))


@dataclasses.dataclass(frozen=True)
class PolynomialDecay(Periodic):
    """Schedule that rises fast at first and slowly at last ([F] A).

    The sparsity at step t is, in float32,

        final + (initial - final) * (1 - p)**power, with p = (t - begin_step) / (end_step - begin_step) within [0, 1].

    An update comes every `frequency` steps from `begin_step` to `end_step`. The last one has the final sparsity only if
    `frequency` divides `end_step - begin_step`.

    Raises:
        InputError: a value is out of range.

    >>> schedule = PolynomialDecay(0.0, 0.8, begin_step=1, end_step=101, frequency=50)
    >>> [(step, round(schedule.at(step)[1], 6)) for step in range(200) if schedule.at(step)[0]]
    [(1, 0.0), (51, 0.7), (101, 0.8)]
    """

    initial_sparsity: float
    final_sparsity: float
    begin_step: int
    end_step: int
    power: float = 3
    frequency: int = 100

    def __post_init__(self) -> None:
        self._check(initial_sparsity=self.initial_sparsity, final_sparsity=self.final_sparsity)
        require_least(0, power=self.power)
        if self.end_step <= self.begin_step:
            raise InputError("end_step", f"{self.end_step}", f"{self.begin_step + 1} or more")

    def goal(self, step: int) -> float:
        """Return the sparsity that a training which ends with a step is to reach: the final one after `end_step`."""
        return self._sparsity(step) if step >= self.end_step else self.sparsity_by(step)

    @cached_property
    def sparsities(self) -> np.ndarray:  # type: ignore[override]
        """The sparsities of all updates, float32."""
        steps = range(self.begin_step, self.end_step + 1, self.frequency)
        return np.array([self._sparsity(step) for step in steps], np.float32)

    def _sparsity(self, step: int) -> float:
        # Single numbers are raised by the C library, as in TensorFlow; powers of NumPy's arrays differ in the last bit.
        zero, one = np.float32(0), np.float32(1)
        passed = np.float32(step - self.begin_step) / np.float32(self.end_step - self.begin_step)
        left = one - min(one, max(zero, passed))
        rise = np.float32(self.initial_sparsity - self.final_sparsity)
        return float(rise * left ** np.float32(self.power) + np.float32(self.final_sparsity))


@dataclasses.dataclass(frozen=True)
class FunctionSchedule(Schedule):
    """Schedule that is any function of a step, such as an object of a subclass of TF-MOT's `PruningSchedule`.

    Attributes:
        function: function of a step, an integer of NumPy or a tensor, that returns (whether to prune now, sparsity).
    """

    function: Callable[[Any], Any]

    def __repr__(self) -> str:
        return repr(self.function)

    def __call__(self, step: Any) -> tuple[Any, Any]:
        """Call the function; raise an `InputError` unless it returns a pair."""
        result = self.function(step)
        if not (isinstance(result, tuple | list) and len(result) == 2):
            got = f"{self}, which returns {result!r}"
            raise InputError("schedule", got, "a schedule that returns (should_prune, sparsity)")
        return result[0], result[1]

    def at(self, step: int) -> tuple[bool, float]:
        """Return whether to prune at a step, and the sparsity then."""
        due, sparsity = self(np.int64(step))
        return bool(due), float(sparsity)

    def last_update(self, step: int) -> int:
        """Return the last step up to `step` with an update; 0 if there is none."""
        return next((earlier for earlier in range(step, 0, -1) if self.at(earlier)[0]), 0)


@dataclasses.dataclass(frozen=True, eq=False)
class Table(Periodic):
    """Schedule by its values at consecutive steps, -1 where it does not prune, for compilers that call no function."""

    sparsities: np.ndarray
    begin_step: int
    end_step: int
    frequency: int = 1

    @classmethod
    def of(cls, schedule: FunctionSchedule, first: int, steps: int) -> "Table":
        """Ask a schedule at all steps of a training.

        >>> Table.of(FunctionSchedule(lambda step: (step % 2 == 0, 0.5)), 3, 3).sparsities
        array([-1. ,  0.5, -1. ], dtype=float32)
        """
        updates = map(schedule.at, range(first, first + steps))
        values = [sparsity if due else -1 for due, sparsity in updates]
        return cls(np.array(values, np.float32), first, first + steps - 1)


def as_schedule(schedule: Any) -> Schedule:
    """Return a schedule of this module, of TF-MOT or a function of a step in the form of this module.

    >>> as_schedule(ConstantSparsity(0.5, 1))
    ConstantSparsity(target_sparsity=0.5, begin_step=1, end_step=-1, frequency=100)
    """
    if isinstance(schedule, Schedule):
        return schedule
    for kind in (PolynomialDecay, ConstantSparsity):
        theirs = type(schedule)
        if (theirs.__module__, theirs.__name__) == (TFMOT_MODULE, kind.__name__):
            names = [field.name for field in dataclasses.fields(kind)]
            return kind(**{name: getattr(schedule, name) for name in names})
    return FunctionSchedule(schedule)


def planned(final: float, *, initial: float = 0.0, done: int = 0, steps: int) -> Schedule:
    """Return a schedule that reaches `final` in a run and leaves its last quarter for recovery.

    It has at most 101 updates, the first before the first step; a run of one step is pruned immediately. The run has
    `steps` steps (at least 1), begins at the sparsity `initial`, and follows `done` steps of the optimizer.

    >>> planned(0.9, steps=1000)
    PolynomialDecay(initial_sparsity=0.0, final_sparsity=0.9, begin_step=1, end_step=745, power=3, frequency=8)
    """
    window = 3 * steps // 4
    frequency = max(1, -(-window // 100))
    begin = done + 1
    rises = window // frequency
    if rises == 0:
        return ConstantSparsity(final, begin, begin, 1)
    return PolynomialDecay(initial, final, begin, begin + rises * frequency, frequency=frequency)


def check_sparsity(argument: str, value: object, alternative: str = "") -> None:
    """Raise an `InputError` unless the value is a sparsity; `alternative` names other allowed values."""
    valid = isinstance(value, Real) and not isinstance(value, bool) and 0 <= float(value) < 1
    require(valid, argument, value, f"{alternative}a number in [0, 1)")
