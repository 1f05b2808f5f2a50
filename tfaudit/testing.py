"""Checks for the test suites of those who ship models."""

from __future__ import annotations

from rich.console import Console

from tfaudit.audits.gate.checks import CANNOT_JUDGE, PASS
from tfaudit.audits.gate.gate import gate
from tfaudit.audits.gate.limits import Limits
from tfaudit.outlets.gate_tables import verdict_table
from tfaudit.predictions import Predictions

WIDTH = 100  # number of characters of a line of the message


def assert_no_regression(
    before: Predictions,
    after: Predictions,
    limits: Limits,
    *,
    alpha: float = 0.05,
    paired: bool | None = None,
    sizes: tuple[float, float] | None = None,
    allow_undecided: bool = False,
) -> None:
    """Raise an `AssertionError` unless the gate passes the compressed model; its message is the gate's table.

    Args:
        before: the uncompressed model or population.
        after: the compressed one, on the same examples.
        limits: limits that the compressed model must keep, as for `tfaudit.gate`.
        alpha: level of the tests.
        paired: whether compressed members are made from those of `before`; by default as `after` says.
        sizes: bytes of both files, `before` first; not compared by default.
        allow_undecided: whether to pass if the data do not decide; False by default.

    Raises:
        AssertionError: the gate fails the model, or cannot judge it.
        InputError: an argument is not as `tfaudit.gate` expects it.

    Example:
        >>> labels = [0] * 500 + [1] * 500
        >>> before, after = Predictions.from_top1(labels, labels), Predictions.from_top1(labels, [1] * 90 + labels[90:])
        >>> assert_no_regression(before, after, Limits(overall_drop_pp=20))
        >>> assert_no_regression(before, after, Limits(worst_class_drop_pp=5))
        Traceback (most recent call last):
        AssertionError: compressed: FAIL, 1,000 examples
        ...
    """
    verdict = gate(before, after, limits, alpha=alpha, paired=paired, sizes=sizes)
    if verdict.outcome == PASS or (allow_undecided and verdict.outcome == CANNOT_JUDGE):
        return
    console = Console(width=WIDTH, no_color=True)
    with console.capture() as captured:
        console.print(verdict_table("compressed", verdict))
    raise AssertionError("\n".join(line.rstrip() for line in captured.get().splitlines()))
