"""Numbers of classes, from their names or from the names of their columns."""

import re
from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from tfaudit.errors import InputError, listed

_NUMBERED = re.compile(r"(.*?)(\d+)(\D*)", re.DOTALL)


def class_numbers(values: ArrayLike, names: Sequence[str] | None, argument: str) -> np.ndarray:
    """Return the numbers of classes that are given by name, in an array of any shape; numbers stay as they are.

    Args:
        values: names of classes, or numbers.
        names: names of the classes in their order, if they are known.
        argument: argument that errors name.

    Raises:
        InputError: a name that is not among `names`, or names without `names`.

    Example:
        >>> class_numbers(["dog", "cat", "dog"], ["cat", "dog"], "labels")
        array([1, 0, 1])
    """
    array = np.asarray(values)
    if not _is_text(array):
        return array
    numbers = pd.Index(names or ()).get_indexer(pd.Index(array.ravel().astype(str)))
    if (numbers < 0).any():
        unknown = listed(np.unique(array.ravel()[numbers < 0].astype(str)).tolist(), 3)
        expected = (
            f"names such as {listed(names, 3)}"
            if names
            else "class_names, in the order of the class numbers"
        )
        raise InputError(argument, f"classes {unknown}", expected)
    return numbers.reshape(array.shape)


def distinct_names(*values: ArrayLike) -> list[str] | None:
    """Return the names of the classes in several arrays, sorted; None if any array holds anything else.

    Example:
        >>> distinct_names(["dog", "cat"], [["owl", "cat"]]), distinct_names(["dog"], [0])
        (['cat', 'dog', 'owl'], None)
    """
    arrays = [np.asarray(array) for array in values]
    if not all(map(_is_text, arrays)):
        return None
    return np.unique(np.concatenate([array.ravel().astype(str) for array in arrays])).tolist()


def numbered_name(name: str) -> tuple[str, int | None, str]:
    """Return what stands before the last number in a name, the number, and what stands behind it.

    Example:
        >>> numbered_name("prediction_10"), numbered_name("P(class=3)"), numbered_name("cat")
        (('prediction_', 10, ''), ('P(class=', 3, ')'), ('cat', None, ''))
    """
    match = _NUMBERED.fullmatch(name)
    return (match[1], int(match[2]), match[3]) if match else (name, None, "")


def _is_text(array: np.ndarray) -> bool:
    if array.dtype.kind == "O":
        return array.size > 0 and all(isinstance(value, str) for value in array.flat)
    return array.dtype.kind in "UT"
