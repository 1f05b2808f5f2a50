"""The word for the examples of a study: images, texts, or rows of a table."""

import re

_IMAGE = re.compile(r"(?:\b([Aa])n )?\b([Ii])mage(?=s?\b)")


def with_noun(text: str, noun: str) -> str:
    """Return a text about images with the word for what a study holds.

    Args:
        text: text that says "image" and "images".
        noun: plural of the word, such as "texts".

    Example:
        >>> with_noun("An image changes.", "rows"), with_noun("Images of the class", "texts")
        ('A row changes.', 'Texts of the class')
    """
    if noun == "images":
        return text
    one = noun.removesuffix("s")

    def named(found: re.Match[str]) -> str:
        word = one.capitalize() if found[2] == "I" else one
        article = found[1] and f"{found[1]}{'n' if one.startswith('e') else ''} "
        return f"{article or ''}{word}"

    return _IMAGE.sub(named, text)
