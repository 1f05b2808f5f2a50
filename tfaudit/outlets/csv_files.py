"""Tables as CSV files that a spreadsheet shows as they are."""

import numpy as np
import pandas as pd

FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
"""Beginnings of text that spreadsheets take for a formula, and may run."""


def csv_bytes(frame: pd.DataFrame) -> bytes:
    """Return a table as the content of a CSV file, without its index.

    Text that a spreadsheet would run as a formula gets an apostrophe in front, which spreadsheets hide. Numbers, and
    text that is a number, stay as they are.

    Example:
        >>> csv_bytes(pd.DataFrame({"class": ["=1+1", "-3", "cat"], "drop": [-1.5, 2.0, 0.0]})).decode().split()
        ['class,drop', "'=1+1,-1.5", '-3,2.0', 'cat,0.0']
    """
    safe = frame.copy(deep=False)
    safe.columns = [plain(name) for name in frame.columns]
    for i, dtype in enumerate(frame.dtypes):
        if not pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_datetime64_any_dtype(
            dtype
        ):
            safe.isetitem(i, np.array([plain(cell) for cell in frame.iloc[:, i]], object))
    # With the line ends of RFC 4180, a carriage return within a cell is quoted and so begins no new line.
    return safe.to_csv(index=False, lineterminator="\r\n").encode(errors="replace")


def plain(cell: object) -> object:
    """Return a cell that no spreadsheet takes for a formula; only text that begins like a formula changes.

    Example:
        >>> plain("@SUM(A1)"), plain("+1.5"), plain("cat")
        ("'@SUM(A1)", '+1.5', 'cat')
    """
    return (
        f"'{cell}"
        if isinstance(cell, str) and cell.startswith(FORMULA) and not _is_number(cell)
        else cell
    )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return text == text.strip()
