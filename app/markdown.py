"""Names and sentences escaped for Streamlit's Markdown, whatever a data set calls its classes."""

import re
from collections import Counter
from collections.abc import Sequence

LONGEST = 80  # characters of a name on a page; downloads hold the whole name

_MARKS = re.compile(r"[\\`*_\[\]<>#~$:|!&^]|^[-+=]|(?<=^\d)[.)]|(?<=^\d\d)[.)]")
"""Characters with a meaning in Markdown or in Streamlit's extensions; at the start of a line also marks of lists."""


def escape(text: str) -> str:
    r"""Return text on one line, escaped so that Streamlit's Markdown shows it literally.

    An invisible word joiner after each colon keeps `:cat:` from becoming an emoji; "%" stays with its number.

    Example:
        >>> escape("2 * 3")
        '2 \\* 3'
    """
    return _escaped(text).replace(" %", "\N{NO-BREAK SPACE}%")


def escape_name(text: str) -> str:
    r"""Return a name, shortened to `LONGEST` characters and escaped.

    Example:
        >>> escape_name("<b>cat</b>")
        '\\<b\\>cat\\</b\\>'
    """
    return _escaped(_short(text))


def _escaped(text: str) -> str:
    return _MARKS.sub(r"\\\g<0>", " ".join(text.split())).replace("\\:", "\\:\N{WORD JOINER}")


def unique_labels(names: Sequence[str]) -> list[str]:
    """Return the names, shortened; equal ones get their position added.

    Example:
        >>> unique_labels(["crane", "dog", "crane"])
        ['crane (0)', 'dog', 'crane (2)']
    """
    short = [_short(name) or "(no name)" for name in names]
    counts = Counter(short)
    return [f"{name} ({i})" if counts[name] > 1 else name for i, name in enumerate(short)]


def _short(text: str) -> str:
    line = " ".join(str(text).split())
    return line if len(line) <= LONGEST else line[: LONGEST - 1] + "…"
