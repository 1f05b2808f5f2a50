"""Facts about examples that their stored images, texts or rows of tables tell: they describe slices."""

import re
from collections.abc import Iterable

import pandas as pd

from tfaudit.analysis.stored_images import is_picture, pixels_of, word_for

WORDS = 50
"""Number of words that are facts: the most frequent ones of four letters or more that not most texts hold."""


def example_facts(stored: Iterable[bytes]) -> pd.DataFrame:
    r"""Return brightness and contrast of images, the most frequent words of texts, or the columns of rows.

    Args:
        stored: what a study stores of the examples, as `Store.images` returns it.

    Returns:
        A row per example. There are no columns unless all examples are stored: those of a small copy of a study are
        the changed ones, which their facts would give away.

    Example:
        >>> example_facts([b"age: 3\nsex: f", b"age: 5\nsex: m"]).columns.tolist()
        ['age', 'sex']
    """
    contents = list(stored)
    if not all(contents):
        return pd.DataFrame(index=range(len(contents)))
    if is_picture(contents[0]):
        measured = [(pixels.mean(), pixels.std()) for pixels in map(pixels_of, contents)]
        return pd.DataFrame(measured, columns=["brightness", "contrast"])
    texts = [content.decode("utf-8", "replace") for content in contents]
    if word_for(contents[0]) == "texts":
        return _words(texts)
    rows = (dict(line.split(": ", 1) for line in text.splitlines()) for text in texts)
    return pd.DataFrame(rows).apply(_numbers)


def _words(texts: list[str]) -> pd.DataFrame:
    words = pd.Series([sorted(set(re.findall(r"\w{4,}", text.lower()))) for text in texts])
    counts = words.explode().value_counts()
    chosen = counts[counts <= len(texts) / 2].index[:WORDS]
    return pd.DataFrame(
        {f'"{word}"': ["yes" if word in own else "no" for own in words] for word in chosen}
    )


def _numbers(column: pd.Series) -> pd.Series:
    numbers = pd.to_numeric(column, errors="coerce")
    return column if numbers.isna().any() else numbers
