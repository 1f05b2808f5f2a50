"""Design of the regression of class accuracy, [P] eq. 2: rows, terms and omissions."""

import dataclasses
import re
from collections.abc import Collection, Iterable, Mapping

import numpy as np
import pandas as pd

from tfaudit.errors import InputError, require

FACTORS = ("dataset", "model", "weight_treatment", "technique")
"""Categorical columns; each level except the reference has a coefficient."""

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

WORDS: Mapping[str, str] = {
    "dataset": "data set",
    "weight_treatment": "weight treatment",
    "np.exp(sparsity)": "exp(sparsity)",
    "accuracy0": "accuracy before",
    "accuracy0_quartile": "quartile of accuracy before",
    "imbalance": "share of the training set",
    "class_entropy": "entropy of the images",
    "Intercept": "intercept",
}
"""Names of covariates in words, where they are none."""

KEYS = (*FACTORS, "member", "class", "sparsity", "variant")


@dataclasses.dataclass(frozen=True)
class Design:
    """Complete rows of a regression in order, terms of its right-hand side, and notes on omissions.

    `rows` holds the responses, the columns of the terms and the available keys.
    """

    rows: pd.DataFrame
    terms: tuple[str, ...]
    notes: tuple[str, ...]


def _check(table: pd.DataFrame, responses: tuple[str, ...], without: Collection[str]) -> None:
    """Raise an `InputError` for a missing response or an unknown term."""
    for name in responses:
        if name not in table:
            present = ", ".join(map(str, table.columns))
            raise InputError("table", f"columns {present}", f"a column {name!r}")
    for term in [without] if isinstance(without, str) else without:
        known = term in TERMS and not isinstance(without, str)
        require(known, "without", term, f"a list of {', '.join(TERMS)}")


def design(
    table: pd.DataFrame,
    responses: tuple[str, ...],
    reference: Mapping[str, str] | None,
    without: Collection[str],
) -> Design:
    """Choose rows and terms for the columns `responses` of the left-hand side.

    The other arguments and the errors are those of `tfaudit.extensions.factors.regression.factors`.
    """
    _check(table, responses, without)
    wanted = dict.fromkeys((*KEYS, *NUMBERS, *responses))
    rows = table[[name for name in wanted if name in table]].copy()
    for name in (*NUMBERS, *responses):
        if name in rows:
            rows[name] = _numbers(rows[name])
    absent = [name for name in (*FACTORS, *NUMBERS) if name not in rows or rows[name].isna().all()]
    used = [name for name in (*FACTORS, *NUMBERS) if name not in absent]
    notes = [f"Left out because missing: {_in_words(absent)}."] if absent else []
    gaps = rows[[*used, *responses]].isna()
    rows = rows[~gaps.any(axis=1)]
    if len(rows) < len(table):
        where = _in_words(gaps.columns[gaps.any()])
        notes.append(
            f"{len(table) - len(rows)} of {len(table)} rows lack a value of {where} and are left out."
        )
    if constant := [name for name in used if not _varies(rows[name])]:
        notes.append(f"Left out because constant in all rows: {_in_words(constant)}.")
    dropped = {*absent, *constant}
    terms = tuple(
        term
        for term in TERMS
        if term not in without and not dropped & set(re.findall(r"\w+", term))
    )
    if not terms:
        got = f"no covariate that varies in {len(rows)} rows"
        raise InputError("table", got, f"one that may explain {responses[0]}")
    return Design(_ordered(_with_levels(rows, used, reference or {})), terms, tuple(notes))


def term_title(term: str) -> str:
    """Return a term of the formula, or of its coefficients, in words.

    Example:
        >>> term_title("accuracy0:technique[T.l1]")
        'accuracy before × technique l1'
    """
    parts = (part.removesuffix("]").partition("[T.") for part in re.split(r":(?![^\[]*\])", term))
    return " × ".join(
        " ".join(filter(None, (WORDS.get(name, name), level))) for name, _, level in parts
    )


def _in_words(names: Iterable[str]) -> str:
    return ", ".join(map(term_title, names))


def redundant(matrix: np.ndarray) -> np.ndarray:
    """Return which columns of a design matrix `(n, p)`, n >= p, are linear combinations of the columns before them."""
    lengths = np.linalg.norm(matrix, axis=0)
    triangle = np.linalg.qr(matrix / np.where(lengths > 0, lengths, 1), mode="r")
    return (
        np.abs(np.diag(triangle)) < 1e-9
    )  # the diagonal is the part that earlier columns leave unexplained


def _numbers(column: pd.Series) -> pd.Series:
    try:
        numbers = pd.to_numeric(column).astype("float64")
    except (ValueError, TypeError):
        raise InputError("table", f"text in the column {column.name!r}", "numbers") from None
    return numbers.replace([np.inf, -np.inf], np.nan)


def _varies(column: pd.Series) -> bool:
    if column.name in FACTORS:
        return column.astype(str).nunique() > 1
    return bool(len(column) and np.ptp(column) > 1e-12)  # anything less is rounding


def _with_levels(rows: pd.DataFrame, used: list[str], reference: Mapping[str, str]) -> pd.DataFrame:
    """Return factors as categories, the reference first, so that no level's name becomes part of a formula."""
    if foreign := [name for name in reference if name not in FACTORS or name not in used]:
        factors = ", ".join(name for name in used if name in FACTORS) or "none"
        raise InputError("reference", repr(foreign[0]), f"a factor of the table ({factors})")
    for name in (name for name in used if name in FACTORS):
        levels = rows[name].astype(str)
        counts = levels.value_counts().sort_index()
        first = reference.get(name, counts.idxmax())
        if first not in counts.index:
            raise InputError(
                "reference", f"{name} {first!r}", f"one of its levels ({', '.join(counts.index)})"
            )
        rows[name] = pd.Categorical(levels, categories=[first, *counts.index.drop([first])])
    return rows


def _ordered(rows: pd.DataFrame) -> pd.DataFrame:
    """Sort by keys, then by all other columns, so that the order of the table has no effect."""
    names = [name for name in KEYS if name in rows] + [name for name in rows if name not in KEYS]
    values = (rows[name] if name in NUMBERS else rows[name].astype(str) for name in names)
    codes = [pd.factorize(column, sort=True)[0] for column in values]
    return rows.iloc[np.lexsort(codes[::-1])].reset_index(drop=True)
