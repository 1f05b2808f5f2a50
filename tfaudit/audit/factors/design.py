"""The rows and terms of the regression of class accuracy, [P] eq. 2: what varies, what is left out and why."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Collection, Mapping

import numpy as np
import pandas as pd

from tfaudit.errors import InputError

__all__ = ["FACTORS", "NUMBERS", "TERMS", "Design", "design", "redundant"]

FACTORS = ("dataset", "model", "weight_treatment", "technique")
"""Categorical columns; each level but the reference has a coefficient."""

NUMBERS = ("sparsity", "accuracy0", "accuracy0_quartile", "imbalance", "class_entropy")
"""Numeric columns."""

TERMS = (
    *FACTORS,
    "weight_treatment:technique",
    "np.exp(sparsity)",
    "np.exp(sparsity):dataset",
    "np.exp(sparsity):technique",
    "sparsity",
    "accuracy0",
    "accuracy0:weight_treatment",
    "accuracy0:technique",
    "accuracy0_quartile",
    "imbalance",
    "class_entropy",
    "np.exp(sparsity):accuracy0",
    "accuracy0:accuracy0_quartile",
)
"""The terms of [P] eq. 2 and its table in appendix D."""

KEYS = ("dataset", "model", "weight_treatment", "technique", "member", "class", "sparsity", "variant")


@dataclasses.dataclass(frozen=True)
class Design:
    """What is fitted.

    Attributes:
        rows: the complete rows in their order, with the responses, the columns of the terms and the keys there are.
        terms: of the right-hand side.
        notes: what was left out.
    """

    rows: pd.DataFrame
    terms: tuple[str, ...]
    notes: tuple[str, ...]


def design(
    table: pd.DataFrame, responses: tuple[str, ...], reference: Mapping[str, str] | None, without: Collection[str]
) -> Design:
    """Chooses rows and terms; see `tfaudit.audit.factors.regression.factors`, whose arguments these are.

    Args:
        table: see there.
        responses: columns of the left-hand side.
        reference: see there.
        without: see there.

    Raises:
        InputError: as `factors`.
    """
    missing = [name for name in responses if name not in table]
    if missing:
        raise InputError(f"table: no column {missing[0]!r}; it has {', '.join(map(str, table.columns))}")
    unknown = [without] if isinstance(without, str) else [term for term in without if term not in TERMS]
    if unknown:
        raise InputError("without", repr(unknown[0]), f"a list of {', '.join(TERMS)}")
    rows = table[[name for name in dict.fromkeys((*KEYS, *FACTORS, *NUMBERS, *responses)) if name in table]].copy()
    for name in (*NUMBERS, *responses):
        if name in rows:
            rows[name] = _numbers(rows[name])
    absent = [name for name in (*FACTORS, *NUMBERS) if name not in rows or rows[name].isna().all()]
    used = [name for name in (*FACTORS, *NUMBERS) if name not in absent]
    notes = [f"Not given and left out: {', '.join(absent)}."] if absent else []
    gaps = rows[[*used, *responses]].isna()
    rows = rows[~gaps.any(axis=1)]
    if len(rows) < len(table):
        where = ", ".join(gaps.columns[gaps.any()])
        notes.append(f"{len(table) - len(rows)} of {len(table)} rows lack a value and are left out, of {where}.")
    constant = [name for name in used if not _varies(rows[name])]
    if constant:
        notes.append(f"The same in every row and left out: {', '.join(constant)}.")
    dropped = {*absent, *constant}
    terms = tuple(term for term in TERMS if term not in without and not dropped & set(re.findall(r"\w+", term)))
    if not terms:
        raise InputError(f"table: nothing to explain {responses[0]} with; no covariate varies in its {len(rows)} rows")
    return Design(_ordered(_with_levels(rows, used, reference or {})), terms, tuple(notes))


def redundant(matrix: np.ndarray) -> np.ndarray:
    """Marks the columns of a design matrix `(n, p)`, n >= p, that are sums of multiples of columns before them."""
    lengths = np.linalg.norm(matrix, axis=0)
    triangle = np.linalg.qr(matrix / np.where(lengths > 0, lengths, 1), mode="r")
    return np.abs(np.diag(triangle)) < 1e-9  # the diagonal is what remains beside the columns before


def _numbers(column: pd.Series) -> pd.Series:
    try:
        numbers = pd.to_numeric(column).astype("float64")
    except (ValueError, TypeError):
        raise InputError(f"table: column {column.name!r} holds values that are no numbers") from None
    return numbers.replace([np.inf, -np.inf], np.nan)


def _varies(column: pd.Series) -> bool:
    if column.name in FACTORS:
        return column.astype(str).nunique() > 1
    return bool(len(column) and np.ptp(column) > 1e-12)  # below that it is rounding


def _with_levels(rows: pd.DataFrame, used: list[str], reference: Mapping[str, str]) -> pd.DataFrame:
    """Factors as categories, the reference first: so no level's name ever becomes part of a formula."""
    foreign = [name for name in reference if name not in FACTORS or name not in used]
    if foreign:
        given = ", ".join(name for name in used if name in FACTORS) or "none"
        raise InputError(f"reference: {foreign[0]!r}, the factors in the table are {given}")
    for name in (name for name in used if name in FACTORS):
        levels = rows[name].astype(str)
        counts = levels.value_counts().sort_index()
        first = reference.get(name, counts.idxmax())
        if first not in counts.index:
            raise InputError(f"reference: {name} {first!r}, its levels are {', '.join(counts.index)}")
        order = [first, *(level for level in counts.index if level != first)]
        rows[name] = pd.Categorical(levels, categories=order)
    return rows


def _ordered(rows: pd.DataFrame) -> pd.DataFrame:
    """Sorts by keys, then by everything else, so that the order of the table plays no part."""
    names = [name for name in KEYS if name in rows] + [name for name in rows if name not in KEYS]
    values = [rows[name] if name in NUMBERS else rows[name].astype(str) for name in names]
    codes = [pd.factorize(column, sort=True)[0] for column in values]
    return rows.iloc[np.lexsort(codes[::-1])].reset_index(drop=True)
