"""Names of raters: what they may be, and which two are one."""

from __future__ import annotations

import unicodedata

from tfaudit.errors import InputError

__all__ = ["folded", "rater_name"]

_JOINERS = "\u200c\u200d"  # within words of some scripts, and within emoji


def rater_name(name: str) -> str:
    """A rater's name without the space around it. Names that differ in upper and lower case alone are one rater's.

    Raises:
        InputError: not 1 to 60 characters, or characters that do not show.

    Example:
        >>> rater_name(" Ann Lee ")
        'Ann Lee'
    """
    name = unicodedata.normalize("NFC", name.strip())
    if not 1 <= len(name) <= 60:
        raise InputError("rater", f"a name of {len(name)} characters", "1 to 60")
    if not all(letter.isprintable() or letter in _JOINERS for letter in name):
        raise InputError("rater", f"{name!a}", "characters that show")
    return name


def folded(name: str) -> str:
    """What two spellings of one name have in common.

    Example:
        >>> folded("ANN") == folded("ann")
        True
    """
    return unicodedata.normalize("NFKC", name).casefold()
