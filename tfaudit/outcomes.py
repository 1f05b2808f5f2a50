"""Outcomes: a score in [0, 1] for each example and member, of models whose predictions are no classes."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from tfaudit.errors import InputError, require, require_type
from tfaudit.stats.group_codes import cluster_codes


@dataclasses.dataclass(frozen=True, eq=False)
class Outcomes:
    """How well each member of a population does on each example: 1 is best, 0 is worst.

    An outcome is any score: whether a language model's answer is right, the F1 of an answer, the IoU of a mask, whether
    a box was found, or 1 if the error of a regression lies within a tolerance.

    Args:
        values: `(N,)` or `(K, N)` scores in [0, 1] of K members on N examples.
        example_ids: `(N,)` ids of the examples, each once; None by default.
        clusters: `(N,)` clusters of examples that resemble each other, such as questions on one text; None by default.
        members: K names of the members, 0 to K - 1 by default.
        parents: K names of the baseline's members that the members were made from; None by default.
        errors: whether the values are errors instead, such as those of a regression: numbers of 0 or more, 0 the best;
            False by default. `Limits.mean_error_increase` is the limit for them.
        read_as: what the columns of files were read as, one line per file.

    Raises:
        InputError: scores outside [0, 1] or not finite, or another number of ids, clusters or names.

    >>> Outcomes([1, 0.5, 0]).mean()
    array([0.5])
    """

    values: np.ndarray
    example_ids: np.ndarray | None = None
    clusters: np.ndarray | None = None
    members: tuple[str | int, ...] = ()
    parents: tuple[str | int, ...] | None = None
    errors: bool = False
    read_as: tuple[str, ...] = ()

    def __init__(
        self,
        values: ArrayLike,
        *,
        example_ids: ArrayLike | None = None,
        clusters: ArrayLike | None = None,
        members: Sequence[str | int] | None = None,
        parents: Sequence[str | int] | None = None,
        errors: bool = False,
        read_as: Sequence[str] = (),
    ) -> None:
        scores = np.atleast_2d(np.array(values, np.float64))
        if scores.ndim != 2 or not scores.size:
            raise InputError("values", f"shape {np.shape(values)}", "scores (N,) or (K, N)")
        _check_range(scores, errors=errors)
        scores.setflags(write=False)
        count, examples = scores.shape
        ids = None if example_ids is None else np.asarray(example_ids).astype(str)
        if ids is not None and (ids.shape != (examples,) or len(np.unique(ids)) < examples):
            got = f"{ids.size} ids, {len(np.unique(ids))} of them different"
            raise InputError("example_ids", got, f"{examples}, each once")
        names = tuple(range(count) if members is None else members)
        for argument, given in (("members", names), ("parents", parents)):
            known = given is None or len(given) == count
            require(known, argument, given, f"{count}, one per member")
        fields = {
            "values": scores,
            "example_ids": ids,
            "clusters": None if clusters is None else cluster_codes(clusters, examples),
            "members": names,
            "errors": errors,
            "read_as": tuple(read_as),
            "parents": None if parents is None else tuple(parents),
        }
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    @property
    def num_members(self) -> int:
        """Number of members, K."""
        return len(self.values)

    @property
    def num_examples(self) -> int:
        """Number of examples, N."""
        return self.values.shape[1]

    clusters_are_copies: ClassVar[bool] = False
    contents: ClassVar[None] = None

    @property
    def is_graded(self) -> bool:
        """Whether some outcome is neither 0 nor 1, or all are errors."""
        return self.errors or bool(((self.values > 0) & (self.values < 1)).any())

    def right(self) -> np.ndarray:
        """Return the outcomes, `(K, N)`, as `Predictions.right` returns whether the members are right."""
        return self.values

    def mean(self) -> np.ndarray:
        """Return the `(K,)` mean outcomes of the members."""
        return self.values.mean(1)


def _check_range(values: np.ndarray, *, errors: bool) -> None:
    """Raise an `InputError` for scores outside [0, 1], for errors below 0, or for values that are not finite."""
    kind, most, expected = "scores", 1.0, "scores in [0, 1], of which 1 is best"
    if errors:
        kind, most, expected = "errors", np.inf, "errors of 0 or more, of which 0 is best"
    known = bool(np.isfinite(values).all())
    if not known or values.min() < 0 or values.max() > most:
        got = f"{kind} of {np.nanmin(values):g} to {np.nanmax(values):g}"
        raise InputError("values", got + " and NaN or infinity" * (not known), expected)


def require_same_outcomes(baseline: Any, compressed: Any) -> None:
    """Require outcomes on the same examples in one order; an `InputError` names the first difference."""
    require_type("tfaudit.Outcomes", Outcomes, baseline=baseline, compressed=compressed)
    kinds = ["errors" if side.errors else "scores" for side in (compressed, baseline)]
    if kinds[0] != kinds[1]:
        raise InputError("compressed", kinds[0], f"{kinds[1]}, as the baseline has")
    sizes = [side.num_examples for side in (compressed, baseline)]
    if sizes[0] != sizes[1]:
        raise InputError("compressed", f"{sizes[0]} examples", f"{sizes[1]}, as the baseline has")
    if baseline.example_ids is None or compressed.example_ids is None:
        return
    differs = np.flatnonzero(baseline.example_ids != compressed.example_ids)
    if len(differs):
        first = str(compressed.example_ids[differs[0]])
        got = f"other ids at {len(differs)} positions, first {first!r} at {differs[0]}"
        raise InputError("compressed", got, str(baseline.example_ids[differs[0]]))
