"""The word for the examples of the study that a visitor sees."""

import streamlit as st

from tfaudit.runtime import nouns


def set_noun(word: str) -> None:
    """Set the word for what the study of this session holds, such as "images" or "rows"."""
    st.session_state["examples are"] = word


def noun() -> str:
    """Return the word for what the study of this session holds; "images" if nothing is known."""
    return str(st.session_state.get("examples are", "images"))


def with_noun(text: str) -> str:
    """Return a sentence about images with the word for what the study holds.

    Example:
        >>> with_noun("An image changes.")
        'An image changes.'
    """
    return nouns.with_noun(text, noun())
