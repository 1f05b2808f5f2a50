"""Names and sentences as Streamlit's Markdown shows them as they are, whatever a data set calls its classes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

__all__ = ["labels", "plain", "prose"]

LONGEST = 80
"""Characters of a name on a page; downloads hold it whole."""

_MARKS = re.compile(r"[\\`*_\[\]<>#~$:|!&^]|^[-+=]|(?<=^\d)[.)]|(?<=^\d\d)[.)]")
"""What Markdown, and Streamlit's own, take for more than itself: at the start of a line also signs of lists."""


def plain(text: str) -> str:
    r"""A name as Streamlit's Markdown shows it as it is: on one line, shortened, with nothing in it that formats.

    Example:
        >>> plain("<b>cat</b>")
        '\\<b\\>cat\\</b\\>'
    """
    return prose(_short(text))


def prose(text: str) -> str:
    r"""The same for sentences, however long.

    A word joiner, which nobody sees, parts the colons that would make an emoji of a word.

    Example:
        >>> prose("2 * 3")
        '2 \\* 3'
    """
    escaped = _MARKS.sub(r"\\\g<0>", " ".join(text.split()))
    return escaped.replace("\\:", "\\:\N{WORD JOINER}")


def labels(names: Sequence[str]) -> list[str]:
    """The names on one line each, shortened, and told apart by their positions where they are alike.

    Example:
        >>> labels(["crane", "dog", "crane"])
        ['crane (0)', 'dog', 'crane (2)']
    """
    short = [_short(name) or "(no name)" for name in names]
    counts = Counter(short)
    return [f"{name} ({i})" if counts[name] > 1 else name for i, name in enumerate(short)]


def _short(text: str) -> str:
    line = " ".join(str(text).split())
    return line if len(line) <= LONGEST else line[: LONGEST - 1] + "…"
