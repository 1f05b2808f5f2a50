"""Names of raters: the allowed ones, and which two are the same."""

import unicodedata

from tfaudit.errors import InputError

_JOINERS = "\u200c\u200d"  # within words of some scripts, and within emoji


def rater_name(name: str) -> str:
    """Return a rater's name without surrounding space. Names that differ only in case belong to one rater.

    Raises:
        InputError: the name has not 1 to 60 characters, or some are not printable.

    Example:
        >>> rater_name(" Ann Lee ")
        'Ann Lee'
    """
    name = unicodedata.normalize("NFC", name.strip())
    if not 1 <= len(name) <= 60:
        raise InputError("rater", f"a name of {len(name)} characters", "1 to 60 characters")
    if not all(letter.isprintable() or letter in _JOINERS for letter in name):
        raise InputError("rater", f"{name!a}", "printable characters")
    return name


def folded_name(name: str) -> str:
    """Return the common form of all spellings of a name.

    Example:
        >>> folded_name("ANN") == folded_name("ann")
        True
    """
    return unicodedata.normalize("NFKC", name).casefold()
