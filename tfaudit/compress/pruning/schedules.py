"""TF-MOT's pruning schedules; only this module imports TF-MOT.

Importing TF-MOT sets `TF_USE_LEGACY_KERAS`, which would turn the user's `tf.keras` into Keras 2 unless it was used
before. So `tf.keras` is loaded first, and the variable is restored afterwards.

Steps count from 1, as in TF-MOT.
"""

import os
from collections.abc import Callable
from functools import cache, lru_cache
from types import ModuleType
from typing import Any

import numpy as np
import tensorflow as tf

from tfaudit.errors import InputError, missing_extra, one_line

Schedule = Callable[[Any], tuple[Any, Any]]
"""Function of a step that returns (whether to prune now, sparsity), such as TF-MOT's `PruningSchedule` objects."""

_VARIABLE = "TF_USE_LEGACY_KERAS"


@cache
def _tfmot() -> ModuleType:
    before = os.environ.get(_VARIABLE)
    _ = tf.keras.layers  # loads `tf.keras`, which then stays Keras 3
    try:
        import tensorflow_model_optimization.sparsity.keras as tfmot
    except ModuleNotFoundError as error:
        raise missing_extra(error, "schedule") or error from None
    finally:
        os.environ.pop(_VARIABLE, None)
        if before is not None:
            os.environ[_VARIABLE] = before
    return tfmot


def polynomial(initial: float, final: float, begin: int, end: int, frequency: int) -> Schedule:
    """Return TF-MOT's cubic `PolynomialDecay` from one sparsity to another ([F] A), with power 3.

    It is updated every `frequency` steps from `begin` to `end`. `frequency` has to divide `end - begin`; otherwise the
    schedule would not reach the final sparsity.

    Raises:
        InputError: TF-MOT rejects the values, or the updates would miss `end`.

    >>> due, sparsity = polynomial(0.0, 0.8, begin=1, end=101, frequency=50)(51)
    >>> bool(due), round(float(sparsity), 6)
    (True, 0.7)
    """
    if end <= begin or frequency < 1 or (end - begin) % frequency:
        raise InputError(
            "frequency",
            str(frequency),
            f"a divisor of end - begin = {end} - {begin}, which is positive",
        )
    return _made("PolynomialDecay", initial, final, begin, end, power=3, frequency=frequency)


def constant(sparsity: float, begin: int, end: int = -1, frequency: int = 100) -> Schedule:
    """Return a TF-MOT `ConstantSparsity`, updated every `frequency` steps from `begin` to `end`; -1 means no end."""
    return _made("ConstantSparsity", sparsity, begin, end, frequency)


def _made(kind: str, *values: Any, **settings: Any) -> Schedule:
    try:
        return getattr(_tfmot(), kind)(*values, **settings)
    except ValueError as error:
        raise InputError(
            "schedule", f"{values}", f"values that {kind} accepts ({one_line(error)})"
        ) from error


@lru_cache
def planned(final: float, *, initial: float = 0.0, done: int = 0, steps: int) -> Schedule:
    """Return a polynomial schedule that reaches `final` in a run and leaves its last quarter for recovery.

    The same arguments give the same object, to which a traced train function refers.

    It has at most 101 updates, the first before the first step; a run of one step is pruned immediately. The run has
    `steps` steps (at least 1), begins at the sparsity `initial`, and follows `done` steps of the optimizer.

    >>> describe(planned(0.9, steps=1000))
    'PolynomialDecay(initial_sparsity=0.0, final_sparsity=0.9, power=3, begin_step=1, end_step=745, frequency=8)'
    """
    window = 3 * steps // 4
    frequency = max(1, -(-window // 100))
    begin = done + 1
    rises = window // frequency
    if rises == 0:
        return constant(final, begin, begin, 1)
    return polynomial(initial, final, begin, begin + rises * frequency, frequency)


def ask(schedule: Schedule, step: Any) -> tuple[tf.Tensor, tf.Tensor]:
    """Return whether a schedule prunes at a step (bool scalar), and its sparsity then (float32 scalar)."""
    result = schedule(tf.cast(step, tf.int64))
    if not (isinstance(result, tuple | list) and len(result) == 2):
        got = f"{describe(schedule)}, which returns {result!r}"
        raise InputError("schedule", got, "a schedule that returns (should_prune, sparsity)")
    return tf.cast(result[0], tf.bool), tf.cast(result[1], tf.float32)


def table(schedule: Schedule, first: int, steps: int) -> np.ndarray:
    """Return the sparsity at each step from `first` on, float32: -1 where the schedule does not prune, and at the end.

    >>> table(constant(0.5, begin=10, frequency=5), 14, 3)
    array([-1. ,  0.5, -1. , -1. ], dtype=float32)
    """

    def one(step: Any) -> tf.Tensor:
        due, sparsity = ask(schedule, step)
        return tf.where(due, sparsity, -1.0)

    @tf.function(autograph=False)
    def every() -> tf.Tensor:
        numbers = tf.range(first, first + steps, dtype=tf.int64)
        return tf.map_fn(one, numbers, fn_output_signature=tf.float32)

    return np.append(every.get_concrete_function()().numpy(), np.float32(-1))


def first_update(schedule: Schedule, first: int, last: int) -> int | None:
    """Return the first step from `first` to `last` at which the schedule prunes to a sparsity above 0, or None.

    >>> first_update(constant(0.5, begin=10, frequency=5), 11, 99)
    15
    """

    @tf.function(autograph=False)
    def search(first: int, last: int) -> tf.Tensor:
        def idle(step: tf.Tensor) -> tf.Tensor:
            due, sparsity = ask(schedule, step)
            return (step <= last) & ~(due & (sparsity > 0))

        return tf.while_loop(idle, lambda step: (step + 1,), (tf.constant(first, tf.int64),))[0]

    # A concrete function: otherwise TensorFlow warns of retracing after a few schedules.
    step = int(search.get_concrete_function(first, last)())
    return step if step <= last else None


def describe(schedule: Schedule) -> str:
    """Return a schedule as one line of text."""
    if not hasattr(schedule, "get_config"):
        return repr(schedule)
    config = schedule.get_config()
    settings = config.get("config", config)
    return f"{type(schedule).__name__}({', '.join(f'{name}={value}' for name, value in settings.items())})"
