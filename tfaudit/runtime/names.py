"""Names of classes, groups, variants and studies that people chose, cleaned once, on input.

A control character in a name would steer a terminal and stop the renderer of charts, and half a character (a lone
surrogate) cannot be written to any file.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from tfaudit.errors import InputError, Notice, listed

if TYPE_CHECKING:  # the command line starts without them
    import numpy as np
    import pandas as pd

_PICTURES = {code: chr(0x2400 + code) for code in range(0x20)} | {0x7F: "\u2421"}
"""Unicode's pictures of the control characters of ASCII."""

_NO_TEXT = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")
"""Control characters, surrogates, and what Unicode calls noncharacters."""

_PIECE = 2**16
"""Values of a column that are Python's objects at once."""


def clean_name(name: str) -> str:
    r"""Return a name with a visible symbol for each character that is not text.

    Example:
        >>> clean_name("cat\a"), clean_name("dog"), clean_name("\ud800")
        ('cat␇', 'dog', '\\ud800')
    """
    return _NO_TEXT.sub(lambda found: _PICTURES.get(ord(found[0]), f"\\u{ord(found[0]):04x}"), name)


def class_in_words(name: str) -> str:
    """Return the name of a class as it stands in a sentence: a number alone would read as a count.

    Example:
        >>> class_in_words("Coat"), class_in_words("9")
        ('Coat', 'class 9')
    """
    return f"class {name}" if name[:1].isdigit() else name


def clean_names(names: Iterable[str], source: str) -> tuple[str, ...]:
    r"""Return clean names, and issue a `Notice` that lists those that were changed.

    Args:
        names: names of classes, variants and so on.
        source: argument or file from which the names come.

    Raises:
        InputError: different names would become equal.

    Example:
        >>> clean_names(["cat", "dog"], "class_names")
        ('cat', 'dog')
        >>> clean_names(["cat\a", "cat␇"], "class_names")
        Traceback (most recent call last):
        tfaudit.errors.InputError: class_names: got names that differ only in a control character and its symbol, such
        as 'cat␇', expected names that differ in text
    """
    names = tuple(names)
    changed = _changes(names, source)
    return tuple(changed.get(name, name) for name in names) if changed else names


def clean_texts(values: np.ndarray, source: str) -> np.ndarray:
    """Return an array with clean names in place of its texts, as `clean_names` does; numbers stay."""
    import numpy as np

    changed = _changes(values.tolist(), source) if values.dtype.kind in "UO" else {}
    if not changed:
        return values
    return np.array(
        [changed.get(value, value) for value in values.tolist()],
        object if values.dtype == object else str,
    )


def clean_table(frame: pd.DataFrame, source: str) -> pd.DataFrame:
    """Return a table with clean names of columns and clean texts, as `clean_names` does."""
    from pandas.api.types import is_numeric_dtype

    headings = _changes(frame.columns, source)
    texts = [name for name in frame if not is_numeric_dtype(frame[name])]
    columns = {
        name: _changes(frame[name].tolist(), source)
        for name in texts
        if not all(map(_is_text, _pieces(frame[name])))
    }
    if not headings and not columns:
        return frame
    clean = frame.copy(deep=False)
    for name, changed in columns.items():
        clean[name] = [
            changed.get(value, value) if isinstance(value, str) else value for value in frame[name]
        ]
    return clean.rename(columns=headings)


def _pieces(column: pd.Series) -> Iterator[list[Any]]:
    """Yield lists of the values, over which pandas iterates ten times as fast as over the column."""
    return (column.iloc[i : i + _PIECE].tolist() for i in range(0, len(column), _PIECE))


def _is_text(values: Iterable[Any]) -> bool:
    """Return whether all texts among the values are clean."""
    return not _NO_TEXT.search("".join(value for value in values if isinstance(value, str)))


def _changes(values: Iterable[Any], source: str) -> dict[str, str]:
    """Return the clean name of each text that is not clean."""
    texts = [value for value in values if isinstance(value, str)]
    together = "".join(texts)
    # Printable text has none of these characters, which is found four times as fast.
    if together.isprintable() or not _NO_TEXT.search(together):
        return {}
    distinct = dict.fromkeys(texts)
    changed = {text: clean_name(text) for text in distinct if _NO_TEXT.search(text)}
    if twice := [new for new in changed.values() if new in distinct]:
        got = f"names that differ only in a control character and its symbol, such as {twice[0]!r}"
        raise InputError(source, got, "names that differ in text")
    shown = listed([f"{old!a} as {new}" for old, new in changed.items()])
    warnings.warn(
        Notice(f"{source}: characters that are no text are replaced: {shown}"), stacklevel=4
    )
    return changed
