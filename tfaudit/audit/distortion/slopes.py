"""The distortions of many levels, methods, models or data sets side by side, as tidy frames: [R] 6 and figures 1-13."""

from __future__ import annotations

import dataclasses
import numbers
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from tfaudit.audit.distortion.recall_distortion import Distortion
from tfaudit.errors import InputError
from tfaudit.stats.intervals import mark_slopes

__all__ = ["balances", "factors_of", "groups_of", "in_order", "pooled", "slope_frame", "slope_intervals", "slope_means"]

_VALUES = ("member", "alpha", "accuracy_before", "accuracy_after", "variance_before", "variance_after")


def slope_frame(
    distortions: Mapping[Any, Distortion], *, by: str | Sequence[str] = ("level",), ddof: int = 0
) -> pd.DataFrame:
    """One row per distortion and member: what all functions of this module and its tests and tables start from.

    Columns: the names in `by`, then those of `Distortion.members_frame`. Frames of several studies, each with a column
    `dataset` or `model` of its own, are joined with `pandas.concat`.

    Args:
        distortions: by level; or by tuples such as (method, level).
        by: what the keys are, one name per part. A level is a sparsity, a pruning ratio or a kind of quantization.
        ddof: of the variances of recall over the classes, 0 or 1.

    Raises:
        InputError: no distortions, of several metrics, or keys that do not fit `by`.

    Example:
        >>> from tfaudit import Predictions
        >>> from tfaudit.audit.distortion.recall_distortion import distortion
        >>> dense = Predictions.from_top1([0, 0, 1, 1], [0, 0, 1, 0])
        >>> slope_frame({0.5: distortion(dense, dense)})[["level", "member", "alpha", "variance_after"]]
           level  member  alpha  variance_after
        0    0.5       0    1.0          0.0625
    """
    return _stacked({key: each.members_frame(ddof=ddof) for key, each in distortions.items()}, distortions, by)


def balances(distortions: Mapping[Any, Distortion], *, by: str | Sequence[str] = ("level",)) -> pd.DataFrame:
    """The points of [R] figures 5-8, one row per distortion, member and class: `by`, and `Distortion.frame`'s columns.

    Raises:
        InputError: as `slope_frame`.
    """
    return _stacked({key: each.frame() for key, each in distortions.items()}, distortions, by)


def pooled(distortions: Mapping[Any, Distortion], *, by: str | Sequence[str] = ("level",)) -> pd.DataFrame:
    """The lines of [R] figures 5-8, one row per distortion: `by`, and all that `Distortion.summary` says.

    Raises:
        InputError: as `slope_frame`.
    """
    return _stacked({key: pd.DataFrame([each.summary()]) for key, each in distortions.items()}, distortions, by)


def slope_intervals(slopes: pd.DataFrame, *, alpha: float = 0.05) -> pd.DataFrame:
    """The mean slope of every level with its interval and mark: [R] figures 1-4 and 9-12.

    The intervals of one data set, model and method stand together: each has the confidence `1 - alpha / levels`.

    Columns: the factors of `slopes`, `members`, `alpha` (mean slope), `low`, `high`, `confidence` and `mark`: "<" below
    1 (de-intensification), ">" above 1 (intensification), "?" neither.

    Args:
        slopes: of `slope_frame`.
        alpha: chance that any interval of a family misses its mean, in (0, 1).

    Raises:
        InputError: a column is missing, or alpha is outside (0, 1).
    """
    factors = factors_of(slopes, "level", "alpha")
    rows = []
    for family, members in groups_of(slopes, [name for name in factors if name != "level"]):
        levels = groups_of(members, ["level"])
        for level, found in levels:
            mark = dataclasses.asdict(mark_slopes(found["alpha"], levels=len(levels), alpha=alpha))
            rows.append({**family, **level, "members": len(found), "alpha": mark.pop("mean"), **mark})
    return pd.DataFrame(rows)[[*factors, "members", "alpha", "low", "high", "confidence", "mark"]]


def slope_means(slopes: pd.DataFrame) -> pd.DataFrame:
    """Means over the members, one row per combination of factors: [R] figure 13 and tables 10-13.

    Columns: the factors of `slopes`; `members`; means of `accuracy_before`, `accuracy_after`, `alpha`,
    `variance_before`, `variance_after`; `accuracy_before_se`, `accuracy_after_se`, `alpha_se`, standard errors (NaN for
    one member); and `variance_grew`, whether the mean variance of recall is larger after than before.

    Raises:
        InputError: a column is missing.
    """
    factors = factors_of(slopes, *_VALUES)
    rows = []
    for group, members in groups_of(slopes, factors):
        values = members[[*_VALUES[1:]]]
        errors = values.sem(skipna=False)[["accuracy_before", "accuracy_after", "alpha"]].add_suffix("_se")
        rows.append({**group, "members": len(members), **values.mean(skipna=False), **errors})
    frame = pd.DataFrame(rows)
    return frame.assign(variance_grew=frame["variance_after"] > frame["variance_before"])


def factors_of(slopes: pd.DataFrame, *needed: str) -> list[str]:
    """The columns of a slope frame that tell models apart: all but the member and its values.

    Args:
        slopes: of `slope_frame`.
        *needed: columns that there must be, beside `member`.

    Raises:
        InputError: a column is missing, a factor has empty cells, or there are no rows.
    """
    missing = [name for name in ("member", *needed) if name not in slopes]
    if missing or slopes.empty:
        raise InputError("slopes", f"no {', '.join(missing) or 'rows'}", "a frame as of `slope_frame`")
    factors = [str(name) for name in slopes if name not in _VALUES]
    empty = [name for name in factors if slopes[name].isna().any()]
    if empty:
        raise InputError(f"slopes: empty cells in {', '.join(empty)}; every row must say what model it is of")
    return factors


def groups_of(slopes: pd.DataFrame, names: Sequence[str]) -> list[tuple[dict[str, Any], pd.DataFrame]]:
    """Every combination of values of the named columns, ordered as `in_order`, and its rows."""
    if not names:
        return [({}, slopes)]
    order = [
        slopes[name].map({value: i for i, value in enumerate(in_order(slopes[name]))}).to_numpy() for name in names
    ]
    groups = [rows for _, rows in slopes.groupby(order)]
    return [({name: rows[name].iloc[0] for name in names}, rows) for rows in groups]


def in_order(values: Iterable[Any]) -> list[Any]:
    """Distinct values: numbers ascend, names stay in the order of their first appearance."""
    distinct = list(dict.fromkeys(values))
    return sorted(distinct) if all(isinstance(value, numbers.Real) for value in distinct) else distinct


def _stacked(
    frames: dict[Any, pd.DataFrame], distortions: Mapping[Any, Distortion], by: str | Sequence[str]
) -> pd.DataFrame:
    names = [by] if isinstance(by, str) else list(by)
    metrics = sorted({each.metric for each in distortions.values()})
    if len(metrics) != 1:
        raise InputError("distortions", f"of metrics {', '.join(metrics) or 'none'}", "distortions of one metric")
    for key, frame in frames.items():
        parts = key if isinstance(key, tuple) else (key,)
        if len(parts) != len(names):
            raise InputError(
                f"distortions: key {key!r} has {len(parts)} parts, by names {len(names)}: {', '.join(names)}"
            )
        for i, (name, part) in enumerate(zip(names, parts, strict=True)):
            frame.insert(i, name, part)
    return pd.concat(frames.values(), ignore_index=True)
