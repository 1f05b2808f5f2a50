"""Slopes of many levels, methods, models or data sets as tidy frames: [R] 6 and figures 1-13."""

import numbers
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from tfaudit.errors import InputError
from tfaudit.extensions.distortion.recall_distortion import Distortion
from tfaudit.extensions.distortion.slope_marks import Mark, mark_slopes

_VALUES = (
    "member",
    "alpha",
    "accuracy_before",
    "accuracy_after",
    "variance_before",
    "variance_after",
)


def slope_frame(
    distortions: Mapping[Any, Distortion], *, by: str | Sequence[str] = ("level",)
) -> pd.DataFrame:
    """Tabulate the slopes, one row per distortion and member: the input of the tests and tables of slopes.

    Columns: the names in `by`, then those of `Distortion.members_frame`. Join frames of several studies, each
    with a column `dataset` or `model`, with `pandas.concat`.

    Args:
        distortions: results of `distortion`, by level or by tuples such as (method, level).
        by: names of the parts of a key, "level" by default. A level is a sparsity, a pruning ratio or a kind of
            quantization.

    Raises:
        InputError: no distortions, several metrics, or keys that do not fit `by`.

    Example:
        >>> from tfaudit import Predictions
        >>> from tfaudit.extensions.distortion.recall_distortion import distortion
        >>> dense = Predictions.from_top1([0, 0, 1, 1], [0, 0, 1, 0])
        >>> slope_frame({0.5: distortion(dense, dense)})[["level", "member", "alpha", "variance_after"]]
           level  member  alpha  variance_after
        0    0.5       0    1.0          0.0625
    """
    return _stack(distortions, by, map(Distortion.members_frame, distortions.values()))


def balance_frame(
    distortions: Mapping[Any, Distortion], *, by: str | Sequence[str] = ("level",)
) -> pd.DataFrame:
    """Tabulate the points of [R] figures 5-8, one row per distortion, member and class.

    Columns: the names in `by`, then those of `Distortion.frame`. Arguments and errors are those of `slope_frame`.
    """
    return _stack(distortions, by, map(Distortion.frame, distortions.values()))


def pooled_frame(
    distortions: Mapping[Any, Distortion], *, by: str | Sequence[str] = ("level",)
) -> pd.DataFrame:
    """Tabulate the pooled slopes of [R] figures 5-8, one row per distortion.

    Columns: the names in `by`, then the keys of `Distortion.summary`. Arguments and errors are those of `slope_frame`.
    """
    return _stack(distortions, by, (pd.DataFrame([d.summary()]) for d in distortions.values()))


def corrected_intervals(
    distortions: Mapping[Any, Distortion],
    *,
    by: str | Sequence[str] = ("level",),
    alpha: float = 0.05,
) -> pd.DataFrame:
    """Tabulate the corrected slope of every level with its interval and mark over images and members.

    Columns and errors are those of `slope_intervals`; `alpha` is the corrected slope, NaN with the mark "?" if there is
    none. Intervals are at level 1 - alpha; the marks of a family are corrected for its size.

    Args:
        distortions: results of `distortion`, by level or by tuples such as (method, level).
        by: names of the parts of a key, "level" by default.
        alpha: probability that any mark of a family errs, and that an interval misses its slope.
    """
    families = Counter(_family(key) for key in distortions)
    rows = []
    for key, distortion in distortions.items():
        mark = distortion.mark(levels=families[_family(key)], alpha=alpha)
        rows.append(pd.DataFrame([_interval(mark, len(distortion.members))]))
    return _stack(distortions, by, rows)


def _interval(mark: Mark, members: int) -> dict[str, Any]:
    """Return the columns of an interval and its mark."""
    return {
        "members": members,
        "alpha": mark.mean,
        "low": mark.low,
        "high": mark.high,
        "confidence": mark.confidence,
        "mark": mark.mark,
    }


def _family(key: Any) -> Any:
    """Return the part of a key that levels of one family share: all parts but the last."""
    return key[:-1] if isinstance(key, tuple) else None


def slope_intervals(slopes: pd.DataFrame, *, alpha: float = 0.05) -> pd.DataFrame:
    """Compute the mean slope of every level with its interval and mark, as published: [R] figures 1-4 and 9-12.

    The intervals are over members alone; those of `corrected_intervals` are over images, too.

    The intervals of one data set, model and method are a family: each has the confidence `1 - alpha / levels`.

    Columns: the factors of `slopes`, `members`, `alpha` (mean slope), `low`, `high`, `confidence` and `mark`: "<" below
    1 (de-intensification), ">" above 1 (intensification), "?" neither.

    The probability that any interval of a family misses its mean is at most `alpha`.

    Raises:
        InputError: a column is missing, or alpha is outside (0, 1).
    """
    factors = factors_of(slopes, "level", "alpha")
    rows = []
    for family, members in groups_of(slopes, [name for name in factors if name != "level"]):
        levels = groups_of(members, ["level"])
        for level, part in levels:
            mark = mark_slopes(part["alpha"], levels=len(levels), alpha=alpha)
            rows.append({**family, **level, **_interval(mark, len(part))})
    table = pd.DataFrame(rows)
    return table[[*factors, *table.columns.drop(factors)]]


def slope_means(slopes: pd.DataFrame) -> pd.DataFrame:
    """Compute means over the members, one row per combination of factors: [R] figure 13 and tables 10-13.

    Columns: the factors of `slopes`; `members`; means of `accuracy_before`, `accuracy_after`, `alpha`,
    `variance_before`, `variance_after`; `accuracy_before_se`, `accuracy_after_se`, `alpha_se`, standard errors (NaN for
    one member); and `variance_grew`, whether the mean variance of recall is larger after than before.

    Raises:
        InputError: a column is missing.
    """
    factors = factors_of(slopes, *_VALUES)
    rows = []
    for group, members in groups_of(slopes, factors):
        values = members[list(_VALUES[1:])]
        averaged = values[["accuracy_before", "accuracy_after", "alpha"]]
        errors = averaged.sem(skipna=False).add_suffix("_se")
        rows.append({**group, "members": len(members), **values.mean(skipna=False), **errors})
    frame = pd.DataFrame(rows)
    return frame.assign(variance_grew=frame["variance_after"] > frame["variance_before"])


def factors_of(slopes: pd.DataFrame, *needed: str) -> list[str]:
    """Return the columns of `slope_frame` that identify models: all but the member and its values.

    Raises:
        InputError: a `needed` column is missing, a factor has missing values, or there are no rows.
    """
    missing = [name for name in ("member", *needed) if name not in slopes]
    if missing or slopes.empty:
        raise InputError("slopes", f"no {', '.join(missing) or 'rows'}", "a frame of `slope_frame`")
    factors = [str(name) for name in slopes if name not in _VALUES]
    if empty := [name for name in factors if slopes[name].isna().any()]:
        got = f"missing values in {', '.join(empty)}"
        raise InputError("slopes", got, "the factors of every row")
    return factors


def groups_of(
    slopes: pd.DataFrame, names: Sequence[str]
) -> list[tuple[dict[str, Any], pd.DataFrame]]:
    """Return every combination of values of the named columns, ordered as `in_order`, with its rows."""
    if not names:
        return [({}, slopes)]
    ranks = [{value: i for i, value in enumerate(in_order(slopes[name]))} for name in names]
    order = [slopes[name].map(rank).to_numpy() for name, rank in zip(names, ranks, strict=True)]
    groups = [rows for _, rows in slopes.groupby(order)]
    return [({name: rows[name].iloc[0] for name in names}, rows) for rows in groups]


def in_order(values: Iterable[Any]) -> list[Any]:
    """Return the distinct values: numbers ascend, names keep the order of their first appearance."""
    distinct = list(dict.fromkeys(values))
    numeric = all(isinstance(value, numbers.Real) for value in distinct)
    return sorted(distinct) if numeric else distinct


def _stack(
    distortions: Mapping[Any, Distortion],
    by: str | Sequence[str],
    tables: Iterable[pd.DataFrame],
) -> pd.DataFrame:
    """Concatenate the tables of the distortions, with the parts of their keys as the first columns."""
    names = [by] if isinstance(by, str) else list(by)
    metrics = sorted({distortion.metric for distortion in distortions.values()})
    if len(metrics) != 1:
        got = f"metrics {', '.join(metrics) or 'none'}"
        raise InputError("distortions", got, "distortions of one metric")
    frames = []
    for key, table in zip(distortions, tables, strict=True):
        parts = key if isinstance(key, tuple) else (key,)
        if len(parts) != len(names):
            expected = f"keys of as many parts as by names: {', '.join(names)}"
            raise InputError("distortions", f"key {key!r}", expected)
        factors = dict(zip(names, parts, strict=True))
        frames.append(table.assign(**factors)[[*names, *table]])
    return pd.concat(frames, ignore_index=True)
