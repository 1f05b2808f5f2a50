"""Short descriptions of slices by what is known of their images."""

import numpy as np
import pandas as pd

from tfaudit.errors import InputError
from tfaudit.predictions import Predictions
from tfaudit.stats.group_codes import group_codes

QUARTERS = ("lowest quarter", "second quarter", "third quarter", "highest quarter")

MOST_VALUES = 300
"""Number of values of a fact above which numbers are cut into quarters, and other facts are left out."""

LIFT = 0.3
"""Share of a slice's images with a value, beyond the share of all images, from which on the value describes it."""

WORDS = 3
"""Most values in a description."""

Known = dict[str, tuple[np.ndarray, tuple[str, ...]]]
"""Facts by name: the code of each image, `(N,)` integers, and the names of the codes."""


def coded(facts: pd.DataFrame | None, baseline: Predictions) -> Known:
    """Return facts as codes: class and prediction, then the columns of a table, numbers in quarters.

    Raises:
        InputError: a table of another length.
    """
    names = baseline.class_names
    predicted = baseline.modal()
    wrong = np.where(predicted == baseline.labels, len(names), predicted)
    known = {"class": (baseline.labels, names), "prediction": (wrong, (*names, "right"))}
    table = pd.DataFrame(index=range(baseline.num_examples)) if facts is None else facts
    if len(table) != baseline.num_examples:
        raise InputError("facts", f"{len(table)} rows", f"{baseline.num_examples}, one per example")
    for name, column in table.items():
        values = column
        if pd.api.types.is_float_dtype(column) or column.nunique() > MOST_VALUES:
            if not pd.api.types.is_numeric_dtype(column):
                continue
            rank = column.rank(pct=True).to_numpy()
            codes = np.ceil(4 * np.nan_to_num(rank)).astype(int) - 1
            values = pd.Series(pd.Categorical.from_codes(codes, pd.Index(QUARTERS)))
        known[str(name)] = group_codes(values, len(table), "facts")
    return known


def described(inside: np.ndarray, known: Known) -> str:
    """Return the values that are more frequent in a slice than in all images, with their shares.

    Args:
        inside: `(N,)` booleans, the slice.
        known: facts by name.

    Example:
        >>> known = {"class": (np.array([0, 0, 1, 1]), ("cat", "dog"))}
        >>> described(np.array([True, True, False, False]), known)
        'class cat'
    """
    found = []
    for fact, (codes, names) in known.items():
        shares = np.bincount(codes[inside], minlength=len(names)) / max(inside.sum(), 1)
        lifts = shares - np.bincount(codes, minlength=len(names)) / len(codes)
        for value in np.flatnonzero(lifts >= LIFT):
            share = f" {100 * shares[value]:.0f} %" if shares[value] < 1 else ""
            found.append((-lifts[value], f"{fact} {names[value]}{share}"))
    return ", ".join(text for _, text in sorted(found)[:WORDS]) or "no value stands out"
