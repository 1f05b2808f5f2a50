"""The marker `nightly`: what `pytest` leaves out unless it is asked for."""

from collections.abc import Iterable

import numpy as np
import pytest


def and_nightly(always: Iterable, at_night: Iterable) -> list:
    """Return the values of `pytest.mark.parametrize`: some run always, others only with `pytest -m nightly`."""
    return [
        *always,
        *(pytest.param(*as_tuple(value), marks=pytest.mark.nightly) for value in at_night),
    ]


def first_and_nightly(values: Iterable, always: int = 1) -> list:
    """Return the values of `parametrize`, of which the first run always and the others at night."""
    values = list(values)
    return and_nightly(values[:always], values[always:])


def as_tuple(value: object) -> tuple:
    """Return the values of one case."""
    return value if isinstance(value, tuple) else (value,)


def nightly_left_out(config: pytest.Config, items: list[pytest.Item]) -> list[pytest.Item]:
    """Return the nightly tests that neither `-m` nor a test's name on the command line asks for."""
    if "nightly" in config.option.markexpr:
        return []
    named = [
        argument.partition("[")[0].rpartition("::")[2]
        for argument in config.args
        if "::" in argument
    ]
    return [
        item
        for item in items
        if item.get_closest_marker("nightly") and getattr(item, "originalname", "") not in named
    ]


def seeds(studies: int) -> range:
    """Return the seeds of simulated studies: the same in every test run, but fresh at night, where they are many.

    Many are 200 or more. The first is printed, so that a failure can be repeated.
    """
    first = int(np.random.SeedSequence().generate_state(1)[0]) if studies >= 200 else 0
    print(f"seeds from {first}")
    return range(first, first + studies)


def noise(share: float, studies: int) -> float:
    """Return what chance adds to a share of simulated studies in 1 of 1,000 tests."""
    return 3.1 * float(np.sqrt(share * (1 - share) / studies))
